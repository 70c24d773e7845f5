import type { Grouping, Series } from './queries.ts'

/** Name of a group in legends and tables. */
export function nameOf({ key, is_other: isOther }: Pick<Series, 'key' | 'is_other'>, by: Grouping): string {
  if (isOther) return 'All others'
  if (key === null) return by === 'version' ? 'Version not known' : 'All'
  return by === 'version' ? shortVersion(key) : key
}

/** Versions are ids: the beginnings are alike for versions of one day, so the ends are shown. */
export function shortVersion(version: string): string {
  return version.length > 12 ? `…${version.slice(-8)}` : version
}
