import path from 'node:path'

/** A glob pattern that is not well-formed, or stands for too much. The message goes on after the pattern or its path: "has ...". */
export class GlobError extends Error {
  override readonly name = 'GlobError'
}

/** Longer than any path that a pattern would be written for. */
const maxCharacters = 1000
/** Patterns that one pattern with braces may stand for: each of them is looked for by itself. */
export const maxAlternatives = 500
/** `*`, `?` and `[` in one part of a path. */
const maxWildcards = 20
/** `**` in one pattern. */
const maxGlobstars = 8

/** Text, or a choice between sequences. */
type Piece = string | Sequence[]
type Sequence = Piece[]

/**
 * The patterns without braces that a pattern with `{a,b}` or `{1..9}` stands for. They are counted before any of them is made. Throws
 * `GlobError`.
 */
export function expandBraces(pattern: string): string[] {
  if (pattern.length > maxCharacters) throw new GlobError(`has more than ${maxCharacters} characters`)
  if (pattern.includes('\0')) throw new GlobError('has a NUL character')
  // Node reads a backslash in a pattern as a slash.
  const sequence = parse(pattern.replaceAll('\\', '/'))
  if (count(sequence) > maxAlternatives) throw new GlobError(`stands for more than ${maxAlternatives} patterns`)
  const expanded = [...new Set(expand(sequence))]
  for (const each of expanded) check(each)
  return expanded
}

function check(pattern: string): void {
  const parts = pattern.split('/')
  if (parts.filter((part) => part === '**').length > maxGlobstars) throw new GlobError(`has more than ${maxGlobstars} times **`)
  for (const part of parts) checkPart(part)
  try {
    path.posix.matchesGlob('x', pattern)
  } catch {
    // Node makes a regular expression of a pattern, and of some patterns no valid one.
    throw new GlobError("has signs that can't stand beside one another in a pattern")
  }
}

/** Groups become regular expressions, which take exponential time where they repeat, or stand beside many wildcards. */
function checkPart(part: string): void {
  const wildcards = part.match(/[*?[]/g)?.length ?? 0
  if (wildcards > maxWildcards) throw new GlobError(`has more than ${maxWildcards} wildcards between two slashes`)
  const [group] = /[*+?@]\(/.exec(part) ?? []
  if (group !== undefined) throw new GlobError(`has ${group}...), which can't be used; write {a,b} or *`)
  const negations = part.match(/!\(/g)?.length ?? 0
  if (negations > 1 || (negations === 1 && wildcards > 2))
    throw new GlobError('has !(...) beside another !(...) or more than two wildcards')
}

/** A group stays text where it is no choice: `{a}`, `${a,b}`. */
function parse(text: string): Sequence {
  const pieces: Sequence = []
  let plainFrom = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '}') throw new GlobError('has a "}" without a "{" before it')
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
  throw new GlobError('has a "{" without a "}" behind it')
}

/** Undefined: the group is text. */
function toChoice(inside: string): Sequence[] | undefined {
  const parts = splitAtCommas(inside)
  return parts.length > 1 ? parts.map(parse) : toRange(inside)?.map((each) => [each])
}

/** At commas that stand in no inner group. */
function splitAtCommas(text: string): string[] {
  const parts: string[] = []
  let [depth, from] = [0, 0]
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '{') depth++
    else if (text[at] === '}') depth--
    else if (text[at] === ',' && depth === 0) {
      parts.push(text.slice(from, at))
      from = at + 1
    }
  }
  return [...parts, text.slice(from)]
}

/** `1..9`, `01..10`, `1..9..2` or `a..e`, as shells have them. */
function toRange(text: string): string[] | undefined {
  const numbers = /^(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?$/.exec(text)
  const letters = /^([a-zA-Z])\.\.([a-zA-Z])(?:\.\.(-?\d+))?$/.exec(text)
  const [, from = '', to = '', step = '1'] = numbers ?? letters ?? []
  if (from === '') return undefined
  const [first, last] = numbers ? [Number(from), Number(to)] : [from.charCodeAt(0), to.charCodeAt(0)]
  const by = Math.max(1, Math.abs(Number(step)))
  const size = Math.floor(Math.abs(last - first) / by) + 1
  if (!(size <= maxAlternatives)) throw new GlobError(`stands for more than ${maxAlternatives} patterns`)
  const isPadded = /^-?0\d/.test(from) || /^-?0\d/.test(to)
  const width = isPadded ? Math.max(from.length, to.length) : 0
  return Array.from({ length: size }, (_, index) => {
    const value = first + (last < first ? -index : index) * by
    return numbers ? pad(value, width) : String.fromCharCode(value)
  })
}

function pad(value: number, width: number): string {
  return value < 0 ? `-${String(-value).padStart(width - 1, '0')}` : String(value).padStart(width, '0')
}

/** Infinity and beyond are no danger: the numbers are compared, and nothing is made of them. */
function count(sequence: Sequence): number {
  return sequence.reduce(
    (product, piece) => product * (typeof piece === 'string' ? 1 : piece.reduce((sum, each) => sum + count(each), 0)),
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
