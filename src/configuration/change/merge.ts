import { isDeepStrictEqual } from 'node:util'

/** Plain data of the configuration, as a file or a request has it: without defaults. */
export interface ConfigData {
  readonly [key: string]: unknown
}

export function isConfigData(value: unknown): value is ConfigData {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * RFC 7396: objects merge, `null` removes, everything else replaces. What the target lacks begins as its default in the schema, where that is
 * more than its own fields' defaults: a patch of `llms.fallback` keeps the primary model. Nothing is changed in place.
 */
export function mergePatch(target: unknown, patch: unknown, defaults?: unknown): unknown {
  if (!isConfigData(patch)) return patch
  const base = isConfigData(target) ? target : target === undefined && isConfigData(defaults) ? defaults : {}
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key]
    else merged[key] = mergePatch(ownValue(base, key), value, ownValue(defaults, key))
  }
  return merged
}

/** The patch without what has no effect on a configuration that is `effective` with its defaults; undefined where nothing is left. */
export function prunePatch(patch: unknown, effective: unknown): unknown {
  if (!isConfigData(patch) || !isConfigData(effective)) return isDeepStrictEqual(patch, effective) ? undefined : patch
  const left = Object.entries(patch).flatMap(([key, value]) => {
    const pruned = prunePatch(value, ownValue(effective, key))
    return pruned === undefined ? [] : [[key, pruned] as const]
  })
  return left.length > 0 ? Object.fromEntries(left) : undefined
}

/** The patch that makes `after` of `before`. */
export function patchBetween(before: ConfigData, after: ConfigData): ConfigData {
  const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key))
  const changed = Object.entries(after).flatMap(([key, value]) => {
    const old = ownValue(before, key)
    if (isDeepStrictEqual(old, value)) return []
    return [[key, isConfigData(old) && isConfigData(value) ? patchBetween(old, value) : value] as const]
  })
  return Object.fromEntries([...removed.map((key) => [key, null] as const), ...changed])
}

export function ownValue(value: unknown, key: string | number): unknown {
  if (Array.isArray(value)) return typeof key === 'number' ? value[key] : undefined
  return isConfigData(value) && Object.hasOwn(value, key) ? value[key] : undefined
}
