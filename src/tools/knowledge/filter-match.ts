import type { DataFilter } from '../../agent/tool.ts'

export type Field = string | number | boolean
export type Fields = Readonly<Record<string, Field>>

/**
 * True when the fields pass all filters. A filter fails, `not_equals` included, when its key is missing or its value is not of the field's
 * type.
 */
export function matchesFilters(fields: Fields, filters: readonly DataFilter[]): boolean {
  return filters.every((filter) => {
    const field = Object.hasOwn(fields, filter.key) ? fields[filter.key] : undefined
    return field !== undefined && testOf(filter)(field)
  })
}

type FieldTest = (field: Field) => boolean

/** Compiled tests: the value of a filter is parsed once, for all documents and model calls of a run. */
const tests = new WeakMap<DataFilter, FieldTest>()

function testOf(filter: DataFilter): FieldTest {
  let test = tests.get(filter)
  if (!test) tests.set(filter, (test = createTest(filter)))
  return test
}

function createTest({ type, value }: DataFilter): FieldTest {
  switch (type) {
    case 'equals': {
      const operand = parseOperand(value)
      return (field) => isEqual(field, operand) === true
    }
    case 'not_equals': {
      const operand = parseOperand(value)
      return (field) => isEqual(field, operand) === false
    }
    case 'in':
      return createMembership(value.split(',').map((part) => parseOperand(part.trim())))
    case 'contains':
      return (field) => String(field).includes(value)
    default:
      // Fail closed: an unknown filter type must not reveal data.
      return () => false
  }
}

/** The value of a filter, parsed as each type that a field can have; undefined when the text is not a value of the type. */
interface Operand {
  text: string
  number: number | undefined
  boolean: boolean | undefined
  /** The date or time, in epoch milliseconds. */
  time: number | undefined
}

function parseOperand(text: string): Operand {
  const trimmed = text.trim()
  return { text, number: parseNumber(trimmed), boolean: parseBoolean(trimmed), time: parseTime(trimmed) }
}

/** The type and value of a field. Dates are strings in front matter; `2026-01-01` and `2026-01-01T00:00:00Z` are the same time. */
function toTyped(field: Field): { type: keyof Operand; value: Field } {
  if (typeof field === 'number') return { type: 'number', value: field }
  if (typeof field === 'boolean') return { type: 'boolean', value: field }
  const time = parseTime(field)
  return time === undefined ? { type: 'text', value: field } : { type: 'time', value: time }
}

/** Undefined when the operand is not a value of the field's type. */
function isEqual(field: Field, operand: Operand): boolean | undefined {
  const { type, value } = toTyped(field)
  const expected = operand[type]
  return expected === undefined ? undefined : value === expected
}

function createMembership(operands: readonly Operand[]): FieldTest {
  const toSet = (type: keyof Operand) => new Set<Field | undefined>(operands.map((operand) => operand[type]))
  const sets = { text: toSet('text'), number: toSet('number'), boolean: toSet('boolean'), time: toSet('time') }
  return (field) => {
    const { type, value } = toTyped(field)
    return sets[type].has(value)
  }
}

function parseBoolean(text: string): boolean | undefined {
  return /^true$/i.test(text) ? true : /^false$/i.test(text) ? false : undefined
}

function parseNumber(text: string): number | undefined {
  return /^[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : undefined
}

function parseTime(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[-+]\d{2}:\d{2})?)?$/.test(text)) return undefined
  // A time without an offset is UTC: the local time zone would make the result depend on the machine.
  const iso = text.replace(' ', 'T')
  const time = Date.parse(/(Z|[-+]\d{2}:\d{2})$/.test(iso) || !iso.includes('T') ? iso : `${iso}Z`)
  return Number.isNaN(time) ? undefined : time
}
