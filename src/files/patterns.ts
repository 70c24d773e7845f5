import path from 'node:path'
import { expandBraces, GlobError } from '../configuration/glob-braces.ts'
import { createGlobMatcher } from './glob-match.ts'

/** Glob patterns relative to the files root, such as `handbook/**`; one that ends with `/` means all that is under that folder. */
export interface Patterns {
  /** In one spelling and without braces, for `FilesRoot.list`. */
  readonly globs: readonly string[]
  /** `relative` in its canonical spelling. Hidden files match nothing, as in a list. */
  matches(relative: string): boolean
}

/**
 * Throws when a pattern leads out of the root: it would never match, and looking for it may search the whole disk. Throws as well when it
 * stands for too many patterns.
 */
export function createPatterns(patterns: readonly string[]): Patterns {
  const globs = [...new Set(patterns.flatMap(toGlobs))]
  const matchers = globs.map(createGlobMatcher)
  return { globs, matches: (relative) => !isHidden(relative) && matchers.some((matches) => matches(relative)) }
}

function toGlobs(pattern: string): string[] {
  const isFolder = /[/\\]$/.test(pattern)
  const globs = expand(path.posix.normalize(isFolder ? `${pattern}**` : pattern))
    // A choice that ends with a slash means folders, and no files.
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

/** In a hidden folder, or hidden itself. */
export function isHidden(relative: string): boolean {
  return relative.split('/').some((part) => part.startsWith('.'))
}
