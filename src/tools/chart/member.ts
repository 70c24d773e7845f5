import * as vega from 'vega'

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
