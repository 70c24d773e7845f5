import path from 'node:path'

/** Glob patterns relative to the files root, such as `handbook/**`; one that ends with `/` means all that is under that folder. */
export interface Patterns {
  /** In one spelling, for `FilesRoot.list`. */
  readonly globs: readonly string[]
  /** `relative` in its canonical spelling. Hidden files match nothing, as in a list. */
  matches(relative: string): boolean
}

/** Throws when a pattern leads out of the root: it would never match, and looking for it may search the whole disk. */
export function createPatterns(patterns: readonly string[]): Patterns {
  const globs = patterns.map(toGlob)
  return { globs, matches: (relative) => !isHidden(relative) && globs.some((pattern) => path.posix.matchesGlob(relative, pattern)) }
}

function toGlob(pattern: string): string {
  const glob = path.posix.normalize(pattern.endsWith('/') ? `${pattern}**` : pattern)
  if (glob.startsWith('/') || /(^|[/{,(|])\.\.([/},)|]|$)/.test(glob))
    throw new Error(`The pattern ${pattern} leads out of the files root.`)
  return glob
}

/** In a hidden folder, or hidden itself. */
export function isHidden(relative: string): boolean {
  return relative.split('/').some((part) => part.startsWith('.'))
}
