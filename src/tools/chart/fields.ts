import { isObject } from '../../json/is-object.ts'
import { ChartFault, type Json } from './specification.ts'

/** Fields that views speak of, held against those that there are: a chart of one that is not there is empty, and looks right to who asked for it. */

/** Rows that are looked through for their fields. */
const maxRows = 10_000
const maxNamed = 40
/** And for what kind their values are of. */
const maxSeen = 100

const views = ['layer', 'hconcat', 'vconcat', 'concat', 'spec']

/** What transforms call what they make, where they are not told to. */
const unnamed: Readonly<Record<string, string[]>> = {
  ...{ fold: ['key', 'value'], density: ['value', 'density'], quantile: ['prob', 'value'], flatten: [], regression: [], loess: [] },
  ...{ stack: [], bin: [], timeUnit: [], calculate: [], window: [], aggregate: [], joinaggregate: [], impute: [], extent: [], filter: [] },
  ...{ sample: [], lookup: [] },
}

/** Throws `ChartFault` for a field in an encoding that no row has and no transform makes; gives warnings where it can say more. */
export function checkFields(spec: Json): string[] {
  const warnings = new Set<string>()
  visit(spec, 'spec', undefined, warnings)
  return [...warnings]
}

interface Known {
  /** Undefined where it can't be told. */
  fields: ReadonlySet<string> | undefined
  rows: readonly Json[]
}

function visit(view: Json, path: string, outer: Known | undefined, warnings: Set<string>): void {
  const known = withTransforms(view, withData(view, outer))
  if (known?.fields) checkEncoding(view, path, known, warnings)
  // What is repeated stands in the place of a field.
  const { repeat } = view
  const repeated = Array.isArray(repeat) ? repeat : isObject(repeat) ? Object.values(repeat).flat() : []
  for (const name of repeated) if (typeof name === 'string' && !isObject((repeat as Json)['layer'])) check(name, `${path}.repeat`, known)
  for (const key of views) {
    const inner = view[key]
    if (Array.isArray(inner)) inner.forEach((one, at) => isObject(one) && visit(one, `${path}.${key}[${at}]`, known, warnings))
    else if (isObject(inner)) visit(inner, `${path}.${key}`, known, warnings)
  }
}

function withData(view: Json, outer: Known | undefined): Known | undefined {
  const { data } = view
  if (data === undefined || data === null) return outer
  const values = isObject(data) ? data['values'] : undefined
  const format = isObject(data) && isObject(data['format']) ? data['format'] : {}
  const isPlain = Array.isArray(values) && values.length > 0 && !('property' in format) && !('feature' in format) && !('mesh' in format)
  if (!isPlain) return { fields: undefined, rows: [] }
  if (!values.every(isObject)) return { fields: new Set(['data', ...fieldsOf(values.filter(isObject))]), rows: [] }
  return { fields: fieldsOf(values), rows: values }
}

function fieldsOf(rows: readonly Json[]): Set<string> {
  return new Set(rows.slice(0, maxRows).flatMap((row) => Object.keys(row)))
}

function withTransforms(view: Json, known: Known | undefined): Known | undefined {
  const { transform } = view
  if (!known?.fields || !Array.isArray(transform)) return known
  const fields = new Set(known.fields)
  for (const one of transform) {
    if (!isObject(one)) continue
    const kind = Object.keys(unnamed).find((name) => name in one)
    // A pivot, or one that is not known here, makes fields of the data.
    if (!kind) return { fields: undefined, rows: known.rows }
    for (const name of [...namesIn(one), ...unnamed[kind]!]) fields.add(name)
    if (kind === 'lookup' && isObject(one['from'])) for (const name of stringsIn(one['from']['fields'])) fields.add(name)
  }
  return { fields, rows: known.rows }
}

/** Whatever is called something, however deep. */
function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, one]) => (key === 'as' ? stringsIn(one) : key === 'data' ? [] : namesIn(one)))
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

function checkEncoding(view: Json, path: string, known: Known, warnings: Set<string>): void {
  const { encoding, facet } = view
  const channels = { ...(isObject(encoding) ? encoding : {}), ...(isObject(facet) ? ('field' in facet ? { facet } : facet) : {}) }
  for (const [channel, definition] of Object.entries(channels)) {
    for (const one of Array.isArray(definition) ? definition : [definition]) {
      if (!isObject(one)) continue
      const place = `${path}.encoding.${channel}`
      check(one['field'], `${place}.field`, known)
      const { condition } = one
      for (const inner of Array.isArray(condition) ? condition : [condition])
        if (isObject(inner)) check(inner['field'], `${place}.condition.field`, known)
      if (isObject(one['sort'])) check(one['sort']['field'], `${place}.sort.field`, known)
      checkType(channel, one, place, known, warnings)
    }
  }
}

function check(field: unknown, path: string, known: Known | undefined): void {
  if (typeof field !== 'string' || !known?.fields) return
  if (known.fields.has(field) || known.fields.has(firstOf(field)) || known.fields.has(field.replace(/\\(.)/g, '$1'))) return
  const names = [...known.fields]
  const shown = names.slice(0, maxNamed).join(', ') + (names.length > maxNamed ? ' …' : '')
  throw new ChartFault(`${path} is “${field}”, which the data does not have. Its fields are: ${shown}.`)
}

/** `order` of `order.date` and of `order[0]`; a dot that is part of a name stands behind a backslash. */
function firstOf(field: string): string {
  return (/^(?:\\.|[^.[\]\\])+/.exec(field)?.[0] ?? field).replace(/\\(.)/g, '$1')
}

const types = ['quantitative', 'temporal', 'ordinal', 'nominal', 'geojson']

/** Without a type, a channel takes its field for names; with one that the values are not of, it shows nothing. */
function checkType(channel: string, definition: Json, path: string, { rows }: Known, warnings: Set<string>): void {
  const { field, type, aggregate, bin, timeUnit } = definition
  if (type !== undefined && !types.includes(String(type))) throw new ChartFault(`${path}.type must be one of ${types.join(', ')}.`)
  if (typeof field !== 'string' || aggregate || bin || timeUnit) return
  const values = rows.slice(0, maxSeen).flatMap((row) => (row[field] === null || row[field] === undefined ? [] : [row[field]]))
  const isOfWords = values.length > 0 && values.every((value) => typeof value === 'string' && !Number.isFinite(Number(value)))
  if (type === 'quantitative' && isOfWords)
    warnings.add(`${path} is quantitative, but its values are no numbers, such as “${String(values[0]).slice(0, 40)}”.`)
  if (!/^(x|y)$/.test(channel) || type !== undefined || values.length < 3) return
  if (values.every((value) => typeof value === 'number'))
    warnings.add(`${path} has no type: its numbers are shown as names. Say "type": "quantitative" to measure them.`)
  else if (values.every((value) => typeof value === 'string' && /^\d{4}-\d{2}-\d{2}/.test(value)))
    warnings.add(`${path} has no type: its dates are shown as names. Say "type": "temporal" for a time axis.`)
}
