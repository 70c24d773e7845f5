import { platform } from 'node:os'
import path from 'node:path'

/** Longer names can't be those of files: see PATH_MAX and NAME_MAX of Linux. */
const maxPathCharacters = 4096
const maxPartCharacters = 255

/** One character of a part, or `many` for `*`. */
type Token = ((character: string) => boolean) | typeof many
const many = Symbol('many')

/** One part of a path, or `many` for `**`. */
type Part = ((name: string) => boolean) | typeof many

/** The file systems of these compare without case, and so does `glob` of Node. */
const fold = ['darwin', 'win32'].includes(platform()) ? (text: string) => text.toLowerCase() : (text: string) => text

/**
 * Whether a relative path matches a pattern without braces. The time grows with the length of the path times that of the pattern, which no
 * regular expression promises: the path may be what a caller wrote.
 */
export function createGlobMatcher(pattern: string): (relative: string) => boolean {
  const written = fold(pattern).split('/')
  // Behind the last slash there is something.
  if (written.at(-1) === '**') written.push('*')
  const parts = written.map((part): Part => (part === '**' ? many : toPart(part)))
  return (relative) => {
    if (relative.length > maxPathCharacters) return false
    const names = fold(relative).split('/')
    return names.every((name) => name.length <= maxPartCharacters) && fits(names, parts)
  }
}

function toPart(part: string): (name: string) => boolean {
  // Bounded by the check of the pattern: two wildcards at most stand beside a negation.
  if (part.includes('!(')) return (name) => path.posix.matchesGlob(name, part)
  const tokens = toTokens(part)
  return tokens ? (name) => fits(Array.from(name), tokens) : (name) => name === part
}

/** Undefined for plain text. */
function toTokens(part: string): Token[] | undefined {
  if (!/[*?[]/.test(part)) return undefined
  // A class has at least one character, which may be "]".
  // Behind the last bracket no class can end, so none is looked for there.
  const lastEnd = part.lastIndexOf(']') + 1
  const upToLastEnd = part.slice(0, lastEnd).match(/\[[!^]?\]?(?:\[:[a-z]+:\]|[^\]])*\]|[^]/gu) ?? []
  const pieces = [...upToLastEnd, ...Array.from(part.slice(lastEnd))]
  return pieces.map((piece) => {
    if (piece === '*') return many
    if (piece === '?') return () => true
    return piece.length > 2 ? toClass(piece) : (character) => character === piece
  })
}

/** What a class means is what Node says it means, of each character once. */
function toClass(text: string): (character: string) => boolean {
  const answers = new Map<string, boolean>()
  return (character) => {
    // Behind another character, because a dot in front is special.
    const isIn = answers.get(character) ?? path.posix.matchesGlob(`x${character}`, `x${text}`)
    if (answers.size < 1000) answers.set(character, isIn)
    return isIn
  }
}

/** Where items do not fit, the last `many` takes one more; the ones before it never have to. */
function fits<T>(items: readonly T[], pattern: readonly (((item: T) => boolean) | typeof many)[]): boolean {
  let [at, to] = [0, 0]
  let [retryAt, retryTo] = [0, -1]
  while (at < items.length) {
    const next = pattern[to]
    if (next === many) [retryAt, retryTo] = [at, to++]
    else if (next?.(items[at]!)) {
      at++
      to++
    } else if (retryTo !== -1) {
      at = ++retryAt
      to = retryTo + 1
    } else return false
  }
  return pattern.slice(to).every((rest) => rest === many)
}
