import { platform } from 'node:os'
import path from 'node:path'
import { expandBraces, GlobError } from '../configuration/glob-braces.ts'

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

/** Maximum lengths of file names: PATH_MAX and NAME_MAX of Linux. */
const maxPathCharacters = 4096
const maxPartCharacters = 255

/** A character of a part, or `wildcard` for `*`. */
type Token = ((character: string) => boolean) | typeof wildcard
const wildcard = Symbol('wildcard')

/** A part of a path, or `wildcard` for `**`. */
type Part = ((name: string) => boolean) | typeof wildcard

/** macOS and Windows compare names without case, and so does `glob` of Node there. */
const fold = ['darwin', 'win32'].includes(platform()) ? (text: string) => text.toLowerCase() : (text: string) => text

/**
 * Returns a function which tests a relative path against a pattern without braces. The time is at most the length of the path times the length of
 * the pattern, which no regular expression guarantees: the path may come from a caller.
 */
function createGlobMatcher(pattern: string): (relative: string) => boolean {
  const patternParts = fold(pattern).split('/')
  // A final `**` matches at least one name.
  if (patternParts.at(-1) === '**') patternParts.push('*')
  const parts = patternParts.map((part): Part => (part === '**' ? wildcard : toPart(part)))
  return (relative) => {
    if (relative.length > maxPathCharacters) return false
    const names = fold(relative).split('/')
    return names.every((name) => name.length <= maxPartCharacters) && fits(names, parts)
  }
}

function toPart(part: string): (name: string) => boolean {
  // The check of the pattern allows at most two wildcards beside a negation, so the time is bounded.
  if (part.includes('!(')) return (name) => path.posix.matchesGlob(name, part)
  const tokens = toTokens(part)
  return tokens ? (name) => fits(Array.from(name), tokens) : (name) => name === part
}

/** Tokens of a part with wildcards. Undefined for plain text. */
function toTokens(part: string): Token[] | undefined {
  if (!/[*?[]/.test(part)) return undefined
  // A class has at least one character, possibly "]". After the last "]" no class can end, so the rest is plain characters.
  const lastEnd = part.lastIndexOf(']') + 1
  const upToLastEnd = part.slice(0, lastEnd).match(/\[[!^]?\]?(?:\[:[a-z]+:\]|[^\]])*\]|[^]/gu) ?? []
  const pieces = [...upToLastEnd, ...Array.from(part.slice(lastEnd))]
  return pieces.map((piece) => {
    if (piece === '*') return wildcard
    if (piece === '?') return () => true
    return piece.length > 2 ? toClass(piece) : (character) => character === piece
  })
}

/** Tests a character class with Node's own matcher, once per character. */
function toClass(text: string): (character: string) => boolean {
  const answers = new Map<string, boolean>()
  return (character) => {
    // The leading "x" is needed because a dot at the start of a name is special.
    const isIn = answers.get(character) ?? path.posix.matchesGlob(`x${character}`, `x${text}`)
    if (answers.size < 1000) answers.set(character, isIn)
    return isIn
  }
}

/** Greedy match with backtracking: on a mismatch only the last `wildcard` takes a further item, which is sufficient. */
function fits<T>(items: readonly T[], pattern: readonly (((item: T) => boolean) | typeof wildcard)[]): boolean {
  let [at, to] = [0, 0]
  let [retryAt, retryTo] = [0, -1]
  while (at < items.length) {
    const next = pattern[to]
    if (next === wildcard) [retryAt, retryTo] = [at, to++]
    else if (next?.(items[at]!)) {
      at++
      to++
    } else if (retryTo !== -1) {
      at = ++retryAt
      to = retryTo + 1
    } else return false
  }
  return pattern.slice(to).every((rest) => rest === wildcard)
}
