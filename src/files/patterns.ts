import path from 'node:path'

/** Glob patterns relative to the files root, such as `handbook/**`; one that ends with `/` means all that is under that folder. */
export interface Patterns {
  /** In one spelling, for `FilesRoot.list`. */
  readonly globs: readonly string[]
  /** `relative` in its canonical spelling. Hidden files match nothing, as in a list. */
  matches(relative: string): boolean
}

export function createPatterns(patterns: readonly string[]): Patterns {
  const globs = patterns.map((pattern) => path.posix.normalize(pattern.endsWith('/') ? `${pattern}**` : pattern))
  return { globs, matches: (relative) => !isHidden(relative) && globs.some((pattern) => path.posix.matchesGlob(relative, pattern)) }
}

function isHidden(relative: string): boolean {
  return relative.split('/').some((part) => part.startsWith('.'))
}
