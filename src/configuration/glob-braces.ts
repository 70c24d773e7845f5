import path from 'node:path'
import { problemAt, type ConfigProblem, type Path } from './problems.ts'

/** A malformed glob pattern, or a pattern that expands too far. The message is a predicate about the pattern: "has ...". */
export class GlobError extends Error {
  override readonly name = 'GlobError'
}

/** A limit above the length of any real path. */
const maxCharacters = 1000

/** The limit of expanded patterns per pattern: each expanded pattern is searched separately. */
const maxAlternatives = 500

/** The limit of `*`, `?` and `[` between two slashes. */
const maxWildcards = 20

/** The limit of `**` in a pattern. */
const maxGlobstars = 8

/** The limit of patterns of all tools: each pattern is compared with each file whenever a tool lists files. */
const maxPatterns = 5000

/** Text, or a choice between sequences. */
type Piece = string | Sequence[]

type Sequence = Piece[]

/**
 * Expands `{a,b}` and `{1..9}` as shells do. The expanded patterns are counted before expansion, so a huge pattern is refused cheaply.
 * Throws `GlobError`.
 */
export function expandBraces(pattern: string): string[] {
  if (pattern.length > maxCharacters) throw new GlobError(`has more than ${maxCharacters} characters`)
  if (pattern.includes('\0')) throw new GlobError('contains a NUL character')
  // Node reads a backslash in a pattern as a slash.
  const sequence = parse(pattern.replaceAll('\\', '/'))
  if (count(sequence) > maxAlternatives) throw new GlobError(`expands to more than ${maxAlternatives} patterns`)
  const expanded = [...new Set(expand(sequence))]
  for (const expandedPattern of expanded) check(expandedPattern)
  return expanded
}

/**
 * Checks the glob patterns of a tool: `paths`, and `tables` of `data_query`. Create one check per configuration: the expanded patterns of
 * all checked tools count towards one limit.
 */
export function createPatternCheck(): (config: Readonly<Record<string, unknown>>, at: Path) => ConfigProblem[] {
  let total = 0

  function checkOne(pattern: string, at: Path): ConfigProblem[] {
    if (total > maxPatterns) return []
    try {
      total += expandBraces(pattern).length
    } catch (error) {
      if (error instanceof GlobError) return [problemAt(at, error.message)]
      throw error
    }
    return total > maxPatterns ? [problemAt(at, `exceeds the limit of ${maxPatterns} patterns for all tools together`)] : []
  }

  return ({ paths, tables }, at) => [
    ...textsOf(paths).flatMap(([key, pattern]) => checkOne(pattern, [...at, 'paths', key])),
    ...textsOf(tables).flatMap(([key, pattern]) => (isGlob(pattern) ? checkOne(pattern, [...at, 'tables', key]) : [])),
  ]
}

function textsOf(value: unknown): [string | number, string][] {
  const entries: (readonly [string | number, unknown])[] = Array.isArray(value) ? [...value.entries()] : Object.entries(value ?? {})
  return entries.flatMap(([key, text]) => (typeof text === 'string' ? [[key, text]] : []))
}

/** True if a table is a pattern. A table without wildcards is a single file. */
export function isGlob(pattern: string): boolean {
  return /[*?[{]/.test(pattern)
}

function check(pattern: string): void {
  const parts = pattern.split('/')
  if (parts.filter((part) => part === '**').length > maxGlobstars) throw new GlobError(`has ** more than ${maxGlobstars} times`)
  for (const part of parts) checkPart(part)
  try {
    path.posix.matchesGlob('x', pattern)
  } catch {
    // Node compiles a pattern to a regular expression, which fails for some patterns.
    throw new GlobError('is not a valid glob pattern')
  }
}

/** Groups become regular expressions. Repeated groups, and groups beside many wildcards, take exponential time. */
function checkPart(part: string): void {
  const wildcards = part.match(/[*?[]/g)?.length ?? 0
  if (wildcards > maxWildcards) throw new GlobError(`has more than ${maxWildcards} wildcards between two slashes`)
  const [group] = /[*+?@]\(/.exec(part) ?? []
  if (group !== undefined) throw new GlobError(`has ${group}...), which is not supported; use {a,b} or *`)
  const negations = part.match(/!\(/g)?.length ?? 0
  if (negations > 1 || (negations === 1 && wildcards > 2))
    throw new GlobError('has !(...) beside another !(...) or more than two wildcards')
}

/** A group without alternatives stays text: `{a}`, `${a,b}`. */
function parse(text: string): Sequence {
  const pieces: Sequence = []
  let plainFrom = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '}') throw new GlobError('has a "}" without a matching "{"')
    if (text[at] !== '{') continue
    const end = findEnd(text, at)
    if (text[at - 1] !== '$') {
      const inside = text.slice(at + 1, end)
      const choice = toChoice(inside)
      pieces.push(text.slice(plainFrom, at), ...(choice ? [choice] : ['{', ...parse(inside), '}']))
      plainFrom = end + 1
    }
    at = end
  }
  pieces.push(text.slice(plainFrom))
  return pieces
}

function findEnd(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    if (text[at] === '{') depth++
    else if (text[at] === '}' && --depth === 0) return at
  }
  throw new GlobError('has a "{" without a matching "}"')
}

/** Undefined when the group is text. */
function toChoice(inside: string): Sequence[] | undefined {
  const parts = splitAtCommas(inside)
  return parts.length > 1 ? parts.map(parse) : toRange(inside)?.map((text) => [text])
}

/** Splits at commas outside of inner groups. */
function splitAtCommas(text: string): string[] {
  const parts: string[] = []
  let [depth, start] = [0, 0]
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '{') depth++
    else if (text[at] === '}') depth--
    else if (text[at] === ',' && depth === 0) {
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  return [...parts, text.slice(start)]
}

/** Ranges of shells: `1..9`, `01..10`, `1..9..2`, `a..e`. */
function toRange(text: string): string[] | undefined {
  const numbers = /^(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?$/.exec(text)
  const letters = /^([a-zA-Z])\.\.([a-zA-Z])(?:\.\.(-?\d+))?$/.exec(text)
  const [, start = '', end = '', step = '1'] = numbers ?? letters ?? []
  if (start === '') return undefined
  const [first, last] = numbers ? [Number(start), Number(end)] : [start.charCodeAt(0), end.charCodeAt(0)]
  const stride = Math.max(1, Math.abs(Number(step)))
  const size = Math.floor(Math.abs(last - first) / stride) + 1
  if (!(size <= maxAlternatives)) throw new GlobError(`expands to more than ${maxAlternatives} patterns`)
  const isPadded = /^-?0\d/.test(start) || /^-?0\d/.test(end)
  const width = isPadded ? Math.max(start.length, end.length) : 0
  return Array.from({ length: size }, (_, index) => {
    const value = first + (last < first ? -index : index) * stride
    return numbers ? pad(value, width) : String.fromCharCode(value)
  })
}

function pad(value: number, width: number): string {
  return value < 0 ? `-${String(-value).padStart(width - 1, '0')}` : String(value).padStart(width, '0')
}

/** The number of expanded patterns. Infinity is harmless: the number is only compared with a limit. */
function count(sequence: Sequence): number {
  return sequence.reduce(
    (product, piece) => product * (typeof piece === 'string' ? 1 : piece.reduce((sum, alternative) => sum + count(alternative), 0)),
    1,
  )
}

function expand(sequence: Sequence): string[] {
  return sequence.reduce<string[]>(
    (starts, piece) => {
      const ends = typeof piece === 'string' ? [piece] : piece.flatMap(expand)
      return starts.flatMap((start) => ends.map((end) => start + end))
    },
    [''],
  )
}
