import * as vega from 'vega'

/**
 * What an expression reads of an object: an own property, if it is data. Nothing is reached through a prototype, and neither functions nor the parts of Vega
 * itself (a view, its data flow, its operators), which marks refer to.
 */
export function member(object: unknown, key: unknown): unknown {
  if (object === null || object === undefined)
    throw new Error(`there is no ${typeof key === 'object' ? 'value' : String(key)} of ${String(object)}`)
  // The text of an object may be another at each look.
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

/** Exports that its types leave out. */
const { Bounds, GroupItem, Item } = vega as unknown as Record<'Bounds' | 'GroupItem' | 'Item', { prototype: object }>

const colours = ['rgb', 'hsl', 'lab', 'hcl'].map((name) => vega.expressionFunction(name) as (text: string) => object)

/** Of values in rows and of expressions, and of marks, which know the groups around them. */
const dataPrototypes: ReadonlySet<unknown> = new Set([
  ...[Object, Array, Date, RegExp, Float64Array, Float32Array, Item, GroupItem, Bounds].map((type): object => type.prototype),
  ...colours.map((colour) => Object.getPrototypeOf(colour('red')) as object),
])
