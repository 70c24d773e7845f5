import path from 'node:path'
import { expandBraces, GlobError } from '../configuration/glob-braces.ts'
import { createGlobMatcher } from './glob-match.ts'

/** Glob patterns relative to the files root, such as `handbook/**`. A pattern with a final `/` means everything in the folder. */
export interface Patterns {
  /** Normalized patterns without braces, for `FilesRoot.list`. */
  readonly globs: readonly string[]
  /** `relative` must be canonical (`FilesRoot.normalise`). Hidden files never match, as in a list. */
  matches(relative: string): boolean
}

/**
 * Throws for a pattern which leads out of the root: the pattern would never match, and the search could cover the whole disk. Throws also if
 * braces expand to too many patterns.
 */
export function createPatterns(patterns: readonly string[]): Patterns {
  const globs = [...new Set(patterns.flatMap(toGlobs))]
  const matchers = globs.map(createGlobMatcher)
  return { globs, matches: (relative) => !isHidden(relative) && matchers.some((matches) => matches(relative)) }
}

function toGlobs(pattern: string): string[] {
  const isFolder = /[/\\]$/.test(pattern)
  const globs = expand(path.posix.normalize(isFolder ? `${pattern}**` : pattern))
    // An alternative with a final slash matches only folders, so no files.
    .filter((glob) => !glob.endsWith('/'))
    .map((glob) => glob.replace(/\/{2,}/g, '/').replace(/(?<=^|\/)\*\*(?:\/\*\*)+(?=\/|$)/g, '**'))
  if (globs.some((glob) => glob.startsWith('/') || /(^|[/(|])\.\.([/)|]|$)/.test(glob)))
    throw new Error(`The pattern ${pattern} leads out of the files root.`)
  return globs
}

function expand(pattern: string): string[] {
  try {
    return expandBraces(pattern)
  } catch (error) {
    if (error instanceof GlobError) throw new Error(`The pattern ${pattern.slice(0, 100)} ${error.message}.`, { cause: error })
    throw error
  }
}

/** True for a hidden file and for a file in a hidden folder. */
export function isHidden(relative: string): boolean {
  return relative.split('/').some((part) => part.startsWith('.'))
}
