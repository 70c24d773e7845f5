import { isObject } from '../../json/is-object.ts'
/** What a specification says before Vega-Lite reads it. */

export type Json = Record<string, unknown>

/** A fault of the specification or its data: a sentence for who wrote it. */
export class ChartFault extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ChartFault'
  }
}

/** Of one side of a view, in pixels. */
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

/** Properties whose value is the name of a field, a parameter, a view or data. */
const named: ReadonlySet<string> = new Set(['as', 'name', 'field', 'groupby'])

const marks = [
  ...['arc', 'area', 'bar', 'boxplot', 'circle', 'errorband', 'errorbar', 'geoshape', 'image', 'line', 'point', 'rect', 'rule', 'square'],
  ...['text', 'tick', 'trail'],
]
const compositions = ['layer', 'hconcat', 'vconcat', 'concat', 'facet', 'repeat', 'spec']

/** A specification that brings nothing from elsewhere, with `rows` as its data where they are given. Throws `ChartFault`. */
export function readSpecification(given: Json, rows: readonly Json[] | undefined): Json {
  const { $schema, ...spec } = given
  if (typeof $schema === 'string' && /\/vega\/v\d/.test($schema))
    throw new ChartFault('spec must be a Vega-Lite specification, not one of Vega.')
  if (!['mark', ...compositions].some((key) => key in spec)) {
    throw new ChartFault(`spec must have a mark, such as {"mark": "bar", "encoding": {...}}, or one of ${compositions.join(', ')}.`)
  }
  visit(spec, 'spec', 0)
  if (rows) spec['data'] = { ...withoutSource(spec['data']), values: rows }
  if (!hasData(spec)) throw new ChartFault('There is no data: give it as `data`, or as spec.data.values.')
  return spec
}

/** How data is parsed, and its name, stay. */
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
  if (Array.isArray(value)) return value.forEach((one, at) => visit(one, `${path}[${at}]`, depth + 1))
  if (typeof value === 'string') return checkText(value, path)
  if (!isObject(value)) return
  checkMark(value, path)
  for (const [key, one] of Object.entries(value)) {
    const place = `${path}.${key}`
    checkName(key, place)
    if (named.has(key)) for (const name of [one].flat()) checkName(name, place)
    if (key === 'datasets' && isObject(one)) for (const name of Object.keys(one)) checkName(name, place)
    if (key === 'values') checkText(one, place)
    if (key === 'data' && isObject(one) && 'url' in one) throw new ChartFault(`${place}.url can not be loaded: give the rows as \`data\`.`)
    if (sides.has(key)) checkSide(value, key, place)
    // Rows may be called whatever they like.
    if (key !== 'values' && key !== 'datasets' && key !== 'usermeta') visit(one, place, depth + 1)
  }
}

/** Vega keeps what has a name in plain objects, where a name that all objects have would be found without having been put there. */
function checkName(name: unknown, path: string): void {
  if (typeof name === 'string' && Object.hasOwn(Object.prototype, name))
    throw new ChartFault(`${path} can not be named ${name}: choose another name.`)
}

function checkText(text: unknown, path: string): void {
  if (typeof text === 'string' && text.includes('__proto__')) throw new ChartFault(`${path} can not speak of __proto__.`)
}

/** Whether an object in JSON that `JSON.stringify` wrote, at whatever depth, has a property `__proto__`: in a text its quotes would be escaped. */
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
  // There is no page around it that it could fill.
  if (side === 'container') delete view[key]
  if (typeof side === 'number' && !(side >= 0 && side <= maxSide)) throw new ChartFault(`${path} must be between 0 and ${maxSide} pixels.`)
}
