import type { DataFilter } from '../agent/tool.ts'

export type Field = string | number | boolean
export type Fields = Readonly<Record<string, Field>>

/**
 * Whether fields pass all filters. A key that is not there and a value that is not of the field's type let nothing through,
 * `not_equals` included.
 */
export function matchesFilters(fields: Fields, filters: readonly DataFilter[]): boolean {
  return filters.every((filter) => {
    const field = Object.hasOwn(fields, filter.key) ? fields[filter.key] : undefined
    return field !== undefined && testOf(filter)(field)
  })
}

type FieldTest = (field: Field) => boolean

/** A filter's value is parsed once, however many documents and model calls of a run it is compared in. */
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
      // Whoever adds a type of filter must not open what the filter was to close.
      return () => false
  }
}

/** A filter's value in each type that a field can have; undefined where the text is no value of the type. */
interface Operand {
  text: string
  number: number | undefined
  boolean: boolean | undefined
  /** Of a date or a time, in epoch milliseconds. */
  time: number | undefined
}

function parseOperand(text: string): Operand {
  const trimmed = text.trim()
  return { text, number: parseNumber(trimmed), boolean: parseBoolean(trimmed), time: parseTime(trimmed) }
}

/** The field in its own type: a date is a string in front matter, and `2026-01-01` and `2026-01-01T00:00:00Z` are the same time. */
function toTyped(field: Field): { type: keyof Operand; own: Field } {
  if (typeof field === 'number') return { type: 'number', own: field }
  if (typeof field === 'boolean') return { type: 'boolean', own: field }
  const time = parseTime(field)
  return time === undefined ? { type: 'text', own: field } : { type: 'time', own: time }
}

/** Undefined when the operand is no value of the field's type. */
function isEqual(field: Field, operand: Operand): boolean | undefined {
  const { type, own } = toTyped(field)
  const other = operand[type]
  return other === undefined ? undefined : own === other
}

function createMembership(operands: readonly Operand[]): FieldTest {
  const toSet = (type: keyof Operand) => new Set<Field | undefined>(operands.map((operand) => operand[type]))
  const sets = { text: toSet('text'), number: toSet('number'), boolean: toSet('boolean'), time: toSet('time') }
  return (field) => {
    const { type, own } = toTyped(field)
    return sets[type].has(own)
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
  // Without an offset UTC is meant: the machine's own zone would make a filter depend on where it runs.
  const iso = text.replace(' ', 'T')
  const time = Date.parse(/(Z|[-+]\d{2}:\d{2})$/.test(iso) || !iso.includes('T') ? iso : `${iso}Z`)
  return Number.isNaN(time) ? undefined : time
}
