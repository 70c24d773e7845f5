import { isObject } from '../../json/shape.ts'

/** Checks of a specification before Vega-Lite reads it. */

export type Json = Record<string, unknown>

/** An error in the specification or its data. The message is a sentence for the author. */
export class ChartFault extends Error {
  override readonly name = 'ChartFault'
}

/** Maximum width or height of a view in pixels. */
const maxSide = 10_000
const maxDepth = 100

const sides: ReadonlySet<string> = new Set([
  'width',
  'height',
  'step',
  'continuousWidth',
  'continuousHeight',
  'discreteWidth',
  'discreteHeight',
])

/** Properties with the name of a field, a parameter, a view or data as value. */
const namingProperties: ReadonlySet<string> = new Set(['as', 'name', 'field', 'groupby'])

const marks = [
  ...['arc', 'area', 'bar', 'boxplot', 'circle', 'errorband', 'errorbar', 'geoshape', 'image', 'line', 'point', 'rect', 'rule', 'square'],
  ...['text', 'tick', 'trail'],
]
const compositions = ['layer', 'hconcat', 'vconcat', 'concat', 'facet', 'repeat', 'spec']

/** Returns a checked specification without external data, with `rows` as its data if given. Throws `ChartFault`. */
export function readSpecification(input: Json, rows: readonly Json[] | undefined): Json {
  const { $schema, ...spec } = input
  if (typeof $schema === 'string' && /\/vega\/v\d/.test($schema))
    throw new ChartFault('spec must be a Vega-Lite specification, not one of Vega.')
  if (!['mark', ...compositions].some((key) => key in spec)) {
    throw new ChartFault(`spec must have a mark, such as {"mark": "bar", "encoding": {...}}, or one of ${compositions.join(', ')}.`)
  }
  visit(spec, 'spec', 0)
  if (rows) spec['data'] = { ...withoutSource(spec['data']), values: rows }
  if (!hasData(spec)) throw new ChartFault('There is no data: pass the rows as `data`, or as spec.data.values.')
  return spec
}

/** Keeps only the name and the parse format of data. */
function withoutSource(data: unknown): Json {
  if (!isObject(data)) return {}
  const { name, format } = data
  return { ...(name !== undefined && { name }), ...(format !== undefined && { format }) }
}

function hasData(spec: unknown): boolean {
  if (Array.isArray(spec)) return spec.some(hasData)
  if (!isObject(spec)) return false
  const { data } = spec
  if (isObject(data) && ['values', 'sequence', 'sphere', 'graticule', 'name'].some((key) => key in data)) return true
  return compositions.some((key) => hasData(spec[key]))
}

function visit(value: unknown, path: string, depth: number): void {
  if (depth > maxDepth) throw new ChartFault('spec is nested too deep.')
  if (Array.isArray(value)) return value.forEach((item, at) => visit(item, `${path}[${at}]`, depth + 1))
  if (typeof value === 'string') return checkText(value, path)
  if (!isObject(value)) return
  checkMark(value, path)
  for (const [key, member] of Object.entries(value)) {
    const memberPath = `${path}.${key}`
    checkName(key, memberPath)
    if (namingProperties.has(key)) for (const name of [member].flat()) checkName(name, memberPath)
    if (key === 'datasets' && isObject(member)) for (const name of Object.keys(member)) checkName(name, memberPath)
    if (key === 'values') checkText(member, memberPath)
    if (key === 'data' && isObject(member) && 'url' in member)
      throw new ChartFault(`${memberPath}.url cannot be loaded: pass the rows as \`data\`.`)
    if (sides.has(key)) checkSide(value, key, memberPath)
    // Contents of rows and data sets are not checked: any name is allowed there.
    if (key !== 'values' && key !== 'datasets' && key !== 'usermeta') visit(member, memberPath, depth + 1)
  }
}

/** Vega stores named things in plain objects, where a lookup of an inherited name such as `toString` would succeed without a definition. */
function checkName(name: unknown, path: string): void {
  if (typeof name === 'string' && Object.hasOwn(Object.prototype, name))
    throw new ChartFault(`${path} cannot be named ${name}: choose another name.`)
}

function checkText(text: unknown, path: string): void {
  if (typeof text === 'string' && text.includes('__proto__')) throw new ChartFault(`${path} cannot mention __proto__.`)
}

/** True if any object in JSON text has a property `__proto__`. In a string value the quotes would be escaped. The text must come from `JSON.stringify`. */
export function namesPrototype(json: string): boolean {
  return json.includes('"__proto__":')
}

function checkMark(view: Json, path: string): void {
  if (!('encoding' in view) || !('mark' in view)) return
  const { mark } = view
  const type = isObject(mark) ? mark['type'] : mark
  if (!marks.includes(String(type)))
    throw new ChartFault(`${path}.mark must be one of ${marks.join(', ')}${type === 'pie' ? ' (a pie is an arc)' : ''}.`)
}

function checkSide(view: Json, key: string, path: string): void {
  const side = view[key]
  // No page surrounds the chart, so no container has a size.
  if (side === 'container') delete view[key]
  if (typeof side === 'number' && !(side >= 0 && side <= maxSide)) throw new ChartFault(`${path} must be between 0 and ${maxSide} pixels.`)
}

/** Parses delimited text with names in the first line (RFC 4180). Returns rows as Vega expects them, with a property `columns`. */
export function readDelimited(delimiter: string) {
  return (text: unknown): Record<string, string>[] => {
    const [columns = [], ...rows] = toRecords(String(text).replace(/^\ufeff/, ''), delimiter)
    const objects = rows.map((row) => Object.fromEntries(columns.map((name, at) => [name, row[at] ?? ''])))
    return Object.assign(objects, { columns })
  }
}

function toRecords(text: string, delimiter: string): string[][] {
  const records: string[][] = []
  let record: string[] = []
  let at = 0
  while (at < text.length) {
    const isQuoted = text[at] === '"'
    const end = isQuoted ? endOfQuoted(text, at + 1) : endOfPlain(text, at, delimiter)
    record.push(isQuoted ? text.slice(at + 1, end).replaceAll('""', '"') : text.slice(at, end))
    at = isQuoted ? endOfPlain(text, end, delimiter) : end
    if (text[at] === delimiter) {
      at++
      if (at === text.length) record.push('')
      continue
    }
    records.push(record)
    record = []
    at += text.startsWith('\r\n', at) ? 2 : 1
  }
  if (record.length > 0) records.push(record)
  return records.filter((cells) => cells.length > 1 || cells[0] !== '')
}

function endOfQuoted(text: string, start: number): number {
  let at = text.indexOf('"', start)
  while (at >= 0 && text[at + 1] === '"') at = text.indexOf('"', at + 2)
  return at < 0 ? text.length : at
}

function endOfPlain(text: string, start: number, delimiter: string): number {
  let at = start
  while (at < text.length && text[at] !== delimiter && text[at] !== '\n' && text[at] !== '\r') at++
  return at
}
