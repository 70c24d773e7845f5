import { isObject } from '../../json/shape.ts'
import { ChartFault, type Json } from './specification.ts'

/** Checks the fields of views against the data. A chart of a missing field would be empty without looking wrong to the caller. */

/** Rows searched for field names. */
const maxRows = 10_000
const maxListedFields = 40
/** Rows searched for the kind of their values. */
const maxTypedRows = 100

const views = ['layer', 'hconcat', 'vconcat', 'concat', 'spec']

/** Default names of the fields made by each transform. */
const defaultFields: Readonly<Record<string, string[]>> = {
  fold: ['key', 'value'],
  density: ['value', 'density'],
  quantile: ['prob', 'value'],
  flatten: [],
  regression: [],
  loess: [],
  stack: [],
  bin: [],
  timeUnit: [],
  calculate: [],
  window: [],
  aggregate: [],
  joinaggregate: [],
  impute: [],
  extent: [],
  filter: [],
  sample: [],
  lookup: [],
}

/** Throws `ChartFault` for an encoded field which neither a row nor a transform provides. Returns warnings about types. */
export function checkFields(spec: Json): string[] {
  const warnings = new Set<string>()
  visit(spec, 'spec', undefined, warnings)
  return [...warnings]
}

interface FieldScope {
  /** Undefined if the fields cannot be determined. */
  fields: ReadonlySet<string> | undefined
  rows: readonly Json[]
}

function visit(view: Json, path: string, outer: FieldScope | undefined, warnings: Set<string>): void {
  const scope = withTransforms(view, withData(view, outer))
  if (scope?.fields) checkEncoding(view, path, scope, warnings)
  // `repeat` lists names of fields.
  const { repeat } = view
  const repeated = Array.isArray(repeat) ? repeat : isObject(repeat) ? Object.values(repeat).flat() : []
  for (const name of repeated) if (typeof name === 'string' && !isObject((repeat as Json)['layer'])) check(name, `${path}.repeat`, scope)
  for (const key of views) {
    const inner = view[key]
    if (Array.isArray(inner)) inner.forEach((child, at) => isObject(child) && visit(child, `${path}.${key}[${at}]`, scope, warnings))
    else if (isObject(inner)) visit(inner, `${path}.${key}`, scope, warnings)
  }
}

function withData(view: Json, outer: FieldScope | undefined): FieldScope | undefined {
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

function withTransforms(view: Json, scope: FieldScope | undefined): FieldScope | undefined {
  const { transform } = view
  if (!scope?.fields || !Array.isArray(transform)) return scope
  const fields = new Set(scope.fields)
  for (const step of transform) {
    if (!isObject(step)) continue
    const kind = Object.keys(defaultFields).find((name) => name in step)
    // A pivot, or an unknown transform, makes fields from the data.
    if (!kind) return { fields: undefined, rows: scope.rows }
    for (const name of [...namesIn(step), ...defaultFields[kind]!]) fields.add(name)
    if (kind === 'lookup' && isObject(step['from'])) for (const name of stringsIn(step['from']['fields'])) fields.add(name)
  }
  return { fields, rows: scope.rows }
}

/** All names given by `as` properties at any depth. */
function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, member]) => (key === 'as' ? stringsIn(member) : key === 'data' ? [] : namesIn(member)))
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

function checkEncoding(view: Json, path: string, scope: FieldScope, warnings: Set<string>): void {
  const { encoding, facet } = view
  const channels = { ...(isObject(encoding) ? encoding : {}), ...(isObject(facet) ? ('field' in facet ? { facet } : facet) : {}) }
  for (const [channel, definition] of Object.entries(channels)) {
    for (const entry of Array.isArray(definition) ? definition : [definition]) {
      if (!isObject(entry)) continue
      const channelPath = `${path}.encoding.${channel}`
      check(entry['field'], `${channelPath}.field`, scope)
      const { condition } = entry
      for (const inner of Array.isArray(condition) ? condition : [condition])
        if (isObject(inner)) check(inner['field'], `${channelPath}.condition.field`, scope)
      if (isObject(entry['sort'])) check(entry['sort']['field'], `${channelPath}.sort.field`, scope)
      checkType(channel, entry, channelPath, scope, warnings)
    }
  }
}

function check(field: unknown, path: string, scope: FieldScope | undefined): void {
  if (typeof field !== 'string' || !scope?.fields) return
  if (scope.fields.has(field) || scope.fields.has(firstOf(field)) || scope.fields.has(field.replace(/\\(.)/g, '$1'))) return
  const names = [...scope.fields]
  const listed = names.slice(0, maxListedFields).join(', ') + (names.length > maxListedFields ? ' …' : '')
  throw new ChartFault(`${path} is “${field}”, which the data does not have. Its fields are: ${listed}.`)
}

/** The first part of a path: `order` of `order.date` and of `order[0]`. A dot inside a name is escaped by a backslash. */
function firstOf(field: string): string {
  return (/^(?:\\.|[^.[\]\\])+/.exec(field)?.[0] ?? field).replace(/\\(.)/g, '$1')
}

const types = ['quantitative', 'temporal', 'ordinal', 'nominal', 'geojson']

/** Checks the type of a channel. Without a type, a channel treats its field as names; with a type unlike the values, the channel shows nothing. */
function checkType(channel: string, definition: Json, path: string, { rows }: FieldScope, warnings: Set<string>): void {
  const { field, type, aggregate, bin, timeUnit } = definition
  if (type !== undefined && !types.includes(String(type))) throw new ChartFault(`${path}.type must be one of ${types.join(', ')}.`)
  if (typeof field !== 'string' || aggregate || bin || timeUnit) return
  const values = rows.slice(0, maxTypedRows).flatMap((row) => (row[field] === null || row[field] === undefined ? [] : [row[field]]))
  const hasOnlyWords = values.length > 0 && values.every((value) => typeof value === 'string' && !Number.isFinite(Number(value)))
  if (type === 'quantitative' && hasOnlyWords)
    warnings.add(`${path} is quantitative, but its values are not numbers, such as “${String(values[0]).slice(0, 40)}”.`)
  if (!/^(x|y)$/.test(channel) || type !== undefined || values.length < 3) return
  if (values.every((value) => typeof value === 'number'))
    warnings.add(`${path} has no type: its numbers are shown as names. Set "type": "quantitative" to measure them.`)
  else if (values.every((value) => typeof value === 'string' && /^\d{4}-\d{2}-\d{2}/.test(value)))
    warnings.add(`${path} has no type: its dates are shown as names. Set "type": "temporal" for a time axis.`)
}
