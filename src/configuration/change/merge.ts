import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../json/shape.ts'

/** Plain data of the configuration, as in a file or a request: without defaults. */
export interface ConfigData {
  readonly [key: string]: unknown
}

/** Fields that are replaced whole: half of one JSON Schema in another is a schema that nobody wrote, and `null` is a value in it. */
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
