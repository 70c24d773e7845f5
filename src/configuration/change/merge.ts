import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../json/shape.ts'
import { formatPath } from '../problems.ts'

/** Plain data of the configuration, as in a file or a request: without defaults. */
export interface ConfigData {
  readonly [key: string]: unknown
}

/** Fields that are replaced whole: a merge of two JSON Schemas is a schema without an author, and `null` is a value in a JSON Schema. */
const wholeKeys: ReadonlySet<string> = new Set(['response_schema'])

/**
 * RFC 7396: objects merge, `null` removes, everything else replaces. An absent target starts as the default of the schema, so that a patch of
 * `llms.fallback` keeps the default primary model. The arguments are not modified.
 */
export function mergePatch(target: unknown, patch: unknown, defaults?: unknown): unknown {
  if (!isObject(patch)) return patch
  const base = isObject(target) ? target : target === undefined && isObject(defaults) ? defaults : {}
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key]
    else if (wholeKeys.has(key)) merged[key] = value
    else merged[key] = mergePatch(ownValue(base, key), value, ownValue(defaults, key))
  }
  return merged
}

/** Removes values from a patch that equal the values in `effective`, the configuration with defaults. Undefined for an empty result. */
export function prunePatch(patch: unknown, effective: unknown): unknown {
  if (!isObject(patch) || !isObject(effective)) return isDeepStrictEqual(patch, effective) ? undefined : patch
  const entries = Object.entries(patch).flatMap(([key, value]) => {
    if (wholeKeys.has(key)) return isDeepStrictEqual(value, ownValue(effective, key)) ? [] : [[key, value] as const]
    const pruned = prunePatch(value, ownValue(effective, key))
    return pruned === undefined ? [] : [[key, pruned] as const]
  })
  return entries.length > 0 ? Object.fromEntries(entries) : undefined
}

/** The patch that turns `before` into `after`. */
export function patchBetween(before: ConfigData, after: ConfigData): ConfigData {
  const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key))
  const changed = Object.entries(after).flatMap(([key, value]) => {
    const old = ownValue(before, key)
    if (isDeepStrictEqual(old, value)) return []
    return [[key, isObject(old) && isObject(value) && !wholeKeys.has(key) ? patchBetween(old, value) : value] as const]
  })
  return Object.fromEntries([...removed.map((key) => [key, null] as const), ...changed])
}

export function ownValue(value: unknown, key: string | number): unknown {
  if (Array.isArray(value)) return typeof key === 'number' ? value[key] : undefined
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

/**
 * Returns the former index of each element of a list. Elements match by `name`, elements without a name by `keyOf`. Several elements with the
 * same key match in order if their number is unchanged; otherwise these elements have no former index.
 */
export function earlierElements(
  before: readonly unknown[],
  after: readonly unknown[],
  keyOf: (element: unknown) => string,
): (number | undefined)[] {
  const keys = (list: readonly unknown[]) => list.map((element) => (nameOf(element) === undefined ? keyOf(element) : undefined))
  const earlier = Map.groupBy([...keys(before).entries()], ([, key]) => key)
  const later = Map.groupBy([...keys(after).entries()], ([, key]) => key)
  const indexByName = new Map(before.map((element, index) => [nameOf(element), index] as const).toReversed())
  return after.map((element, index) => {
    const name = nameOf(element)
    if (name !== undefined) return indexByName.get(name)
    const key = keyOf(element)
    const [oldEntries, newEntries] = [earlier.get(key) ?? [], later.get(key) ?? []]
    if (oldEntries.length !== newEntries.length) return undefined
    return oldEntries[newEntries.findIndex(([at]) => at === index)]?.[0]
  })
}

/**
 * Former indexes for comparing and writing: a new element without a name, and without an equal former element, counts as a change of the
 * unmatched former element at the same index.
 */
export function elementsBefore(before: readonly unknown[], after: readonly unknown[]): (number | undefined)[] {
  const oldIndexes = earlierElements(before, after, JSON.stringify)
  const isFree = (index: number) => index < before.length && nameOf(before[index]) === undefined && !oldIndexes.includes(index)
  return oldIndexes.map((oldIndex, index) => oldIndex ?? (nameOf(after[index]) === undefined && isFree(index) ? index : undefined))
}

export function nameOf(element: unknown): string | undefined {
  const name = ownValue(element, 'name')
  return typeof name === 'string' ? name : undefined
}

/**
 * Paths of different values, such as `llms.primary.model` or `tools[handbook].config.paths`, without the values, which may be secret. An
 * added or removed value, and a changed list of plain values, counts as a single path.
 */
export function changedPaths(before: unknown, after: unknown, path = ''): string[] {
  if (isDeepStrictEqual(before, after)) return []
  if (isObject(before) && isObject(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...keys].flatMap((key) => changedPaths(ownValue(before, key), ownValue(after, key), join(path, key)))
  }
  const isListOfObjects = (value: unknown): value is unknown[] => Array.isArray(value) && value.every(isObject)
  if (isListOfObjects(before) && isListOfObjects(after)) return changedElements(before, after, path)
  return [path]
}

function changedElements(before: readonly unknown[], after: readonly unknown[], path: string): string[] {
  const oldIndexes = elementsBefore(before, after)
  const removed = before.flatMap((element, index) => (oldIndexes.includes(index) ? [] : [`${path}[${nameOf(element) ?? index}]`]))
  const changed = after.flatMap((element, index) => {
    const oldIndex = oldIndexes[index]
    const elementPath = `${path}[${nameOf(element) ?? index}]`
    return oldIndex === undefined ? [elementPath] : changedPaths(before[oldIndex], element, elementPath)
  })
  const isMoved = removed.length === 0 && changed.length === 0
  return isMoved ? [path] : [...removed, ...changed]
}

function join(path: string, key: string): string {
  const step = formatPath([key])
  return path === '' || step.startsWith('[') ? `${path}${step}` : `${path}.${step}`
}
