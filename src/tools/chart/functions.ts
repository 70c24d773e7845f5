import * as vega from 'vega'

const easings = ['Quad', 'Cubic', 'Poly', 'Sin', 'Exp', 'Circle', 'Bounce', 'Back', 'Elastic']

/** Functions of Vega allowed in an expression. All compute a value from arguments, or read scales and data of the same chart; none of them writes. */
export const vegaFunctions: ReadonlySet<string> = new Set([
  ...['random', 'cumulativeNormal', 'cumulativeLogNormal', 'cumulativeUniform', 'densityNormal', 'densityLogNormal', 'densityUniform'],
  ...['quantileNormal', 'quantileLogNormal', 'quantileUniform', 'sampleNormal', 'sampleLogNormal', 'sampleUniform'],
  ...['isArray', 'isBoolean', 'isDate', 'isDefined', 'isNumber', 'isObject', 'isRegExp', 'isString', 'isTuple', 'isValid'],
  ...['toBoolean', 'toDate', 'toNumber', 'toString'],
  ...[
    'indexof',
    'join',
    'lastindexof',
    'replace',
    'reverse',
    'sort',
    'slice',
    'flush',
    'lerp',
    'interpolateLinear',
    'merge',
    'pad',
    'peek',
  ],
  ...['pluck', 'span', 'inrange', 'truncate', 'sequence', 'extent', 'clampRange', 'bandspace'],
  ...['rgb', 'lab', 'hcl', 'hsl', 'luminance', 'contrast'],
  ...['format', 'utcFormat', 'utcParse', 'utcOffset', 'utcSequence', 'timeFormat', 'timeParse', 'timeOffset', 'timeSequence'],
  ...['timeUnitSpecifier', 'monthFormat', 'monthAbbrevFormat', 'dayFormat', 'dayAbbrevFormat', 'quarter', 'utcquarter', 'week', 'utcweek'],
  ...['isoweek', 'utcisoweek', 'dayofyear', 'utcdayofyear'],
  ...['panLinear', 'panLog', 'panPow', 'panSymlog', 'zoomLinear', 'zoomLog', 'zoomPow', 'zoomSymlog'],
  ...['easeLinear', ...easings.flatMap((name) => ['', 'In', 'Out', 'InOut'].map((part) => `ease${name}${part}`))],
  ...['bandwidth', 'copy', 'domain', 'range', 'invert', 'scale', 'gradient', 'pathShape'],
  ...['geoArea', 'geoBounds', 'geoCentroid', 'geoShape', 'geoScale', 'geoTranslate'],
  ...['data', 'indata', 'treePath', 'treeAncestors'],
  ...['vlSelectionTest', 'vlSelectionIdTest', 'vlSelectionResolve', 'vlSelectionTuples'],
  ...['screen', 'containerSize', 'windowSize'],
])

/**
 * Functions which write data or reach the view. Vega-Lite generates calls for clicks on selections; a picture has no clicks, so a chart with
 * selections is drawn, and only an evaluated call fails.
 */
export const viewFunctions: ReadonlySet<string> = new Set([
  ...['modify', 'setdata', 'encode', 'warn', 'info', 'debug', 'inScope', 'intersect', 'intersectLasso', 'lassoAppend', 'lassoPath'],
  ...['pinchDistance', 'pinchAngle'],
])

export const constants: Readonly<Record<string, number>> = {
  NaN,
  E: Math.E,
  LN2: Math.LN2,
  LN10: Math.LN10,
  LOG2E: Math.LOG2E,
  LOG10E: Math.LOG10E,
  PI: Math.PI,
  SQRT1_2: Math.SQRT1_2,
  SQRT2: Math.SQRT2,
  MIN_VALUE: Number.MIN_VALUE,
  MAX_VALUE: Number.MAX_VALUE,
}

type Callable = (...values: unknown[]) => unknown

const mathNames = [
  ...(['abs', 'acos', 'asin', 'atan', 'atan2', 'ceil', 'cos', 'exp', 'floor', 'hypot', 'log', 'max', 'min', 'pow'] as const),
  ...(['random', 'round', 'sin', 'sqrt', 'tan'] as const),
]

const dateParts = [
  ...([
    ['date', 'Date'],
    ['day', 'Day'],
    ['year', 'FullYear'],
    ['month', 'Month'],
  ] as const),
  ...([
    ['hours', 'Hours'],
    ['minutes', 'Minutes'],
    ['seconds', 'Seconds'],
    ['milliseconds', 'Milliseconds'],
  ] as const),
]

function dateGetter(name: keyof Date): Callable {
  return (value) => (new Date(value as number)[name] as () => unknown)()
}

/** Functions for which Vega generates JavaScript instead of a call. */
export const nativeFunctions = {
  ...Object.fromEntries(mathNames.map((name) => [name, Math[name]])),
  ...Object.fromEntries(dateParts.map(([name, part]) => [name, dateGetter(`get${part}`)])),
  ...Object.fromEntries(dateParts.map(([name, part]) => [`utc${name}`, dateGetter(`getUTC${part}`)])),
  time: dateGetter('getTime'),
  timezoneoffset: dateGetter('getTimezoneOffset'),
  isNaN: Number.isNaN,
  isFinite: Number.isFinite,
  clamp: (value: number, low: number, high: number) => Math.max(low, Math.min(high, value)),
  now: Date.now,
  utc: Date.UTC,
  datetime: (...parts: number[]) => new Date(...(parts as [])),
  length: (value: unknown[]) => value.length,
  parseFloat: Number.parseFloat,
  parseInt: Number.parseInt,
  btoa,
  atob,
  encodeURIComponent,
  upper: (text: unknown) => String(text).toUpperCase(),
  lower: (text: unknown) => String(text).toLowerCase(),
  substring: (text: unknown, start: number, end?: number) => String(text).substring(start, end),
  split: (text: unknown, separator: string, limit?: number) => String(text).split(separator, limit),
  trim: (text: unknown) => String(text).trim(),
  regexp: (pattern: string, flags?: string) => new RegExp(pattern, flags),
  test: (pattern: string | RegExp, text: unknown) => new RegExp(pattern).test(String(text)),
} as unknown as Readonly<Record<string, Callable>>

/**
 * Reads a property of an object for an expression: only own properties with data. Prototypes, functions and internals of Vega (views, data flows,
 * operators, all of which marks refer to) are out of reach.
 */
export function member(object: unknown, key: unknown): unknown {
  if (object === null || object === undefined)
    throw new Error(`there is no ${typeof key === 'object' ? 'value' : String(key)} of ${String(object)}`)
  // An object as key is refused, since its text may change between two reads.
  if (typeof key === 'object') return undefined
  const name = String(key)
  if (!Object.hasOwn(object, name)) return undefined
  const value = (object as Record<string, unknown>)[name]
  return isData(value) ? value : undefined
}

function isData(value: unknown): boolean {
  if (typeof value === 'function') return false
  if (typeof value !== 'object' || value === null) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || dataPrototypes.has(prototype)
}

/** Exports of Vega missing in its types. */
const { Bounds, GroupItem, Item } = vega as unknown as Record<'Bounds' | 'GroupItem' | 'Item', { prototype: object }>

const colours = ['rgb', 'hsl', 'lab', 'hcl'].map((name) => vega.expressionFunction(name) as (text: string) => object)

/** Prototypes of values in rows and expressions, and of marks, which refer to the groups around them. */
const dataPrototypes: ReadonlySet<unknown> = new Set([
  ...[Object, Array, Date, RegExp, Float64Array, Float32Array, Item, GroupItem, Bounds].map((type): object => type.prototype),
  ...colours.map((colour) => Object.getPrototypeOf(colour('red')) as object),
])
