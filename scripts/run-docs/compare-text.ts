import { stripVTControlCharacters } from 'node:util'

/** Parts of an output that differ from run to run, and what takes their place. */
const varying: [RegExp, string][] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>'],
  [/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?/g, '<time>'],
  [/\b1[6-9]\d{8}(\d{3})?\b/g, '<time>'],
  [/"(execution_time|latency|duration|time_to_first_token)": ?[\d.e-]+/g, '"$1":<duration>'],
  [/\b\d+(\.\d+)? ?(ms|s|seconds?|minutes?)\b/g, '<duration>'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, '<key>'],
]

/** Replaces ids, times, durations and keys, which differ from run to run. */
export function normalise(text: string): string {
  return varying.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), stripVTControlCharacters(text))
}

/**
 * Compares an output with the text that a page shows, line by line. `...` stands for any text within a line, and alone on a line for any
 * number of lines. Returns the first difference, or nothing.
 */
export function compareText(expected: string, actual: string): string[] {
  const shown = toLines(expected)
  const lines = toLines(actual)
  const furthest = { shown: 0, line: 0 }
  if (matchLines(shown, lines, furthest)) return []
  const wanted = shown[furthest.shown]
  const found = lines[furthest.line]
  if (wanted === undefined) return [`line ${furthest.line + 1} is not on the page: ${found}`]
  return [`line ${furthest.line + 1} is ${found === undefined ? 'missing' : JSON.stringify(found)}, expected ${JSON.stringify(wanted)}`]
}

function toLines(text: string): string[] {
  const lines = normalise(text)
    .split('\n')
    .map((line) => line.trimEnd())
  while (lines.at(-1) === '') lines.pop()
  while (lines[0] === '') lines.shift()
  return lines
}

/** `furthest` receives the place at which the lines differ. After an elision, lines are searched from where it stands. */
function matchLines(shown: string[], lines: string[], furthest: { shown: number; line: number }): boolean {
  let next = 0
  let retry: { shown: number; line: number } | undefined
  let position = 0
  while (position < shown.length || next < lines.length) {
    if (position + next > furthest.shown + furthest.line) Object.assign(furthest, { shown: position, line: next })
    if (shown[position] === '...') {
      retry = { shown: position, line: next }
      position++
    } else if (position < shown.length && next < lines.length && matchLine(shown[position]!, lines[next]!)) {
      position++
      next++
    } else if (retry && retry.line < lines.length) {
      retry.line++
      position = retry.shown + 1
      next = retry.line
    } else return false
  }
  return true
}

function matchLine(shown: string, line: string): boolean {
  const pieces = shown.split('...')
  let place = 0
  for (const [index, piece] of pieces.entries()) {
    const isLast = index === pieces.length - 1
    const found = isLast && index > 0 ? line.length - piece.length : line.indexOf(piece, place)
    if (found < place || (index === 0 && found !== 0) || !line.startsWith(piece, found)) return false
    place = found + piece.length
  }
  return place === line.length
}
