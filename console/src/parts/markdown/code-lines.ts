const linesPerGroup = 60

/** Splits code into groups of lines. Appended text changes the last group alone. */
export function splitLines(code: string): string[] {
  const groups: string[] = []
  let start = 0
  let lines = 0
  for (let at = code.indexOf('\n'); at !== -1; at = code.indexOf('\n', at + 1)) {
    lines += 1
    if (lines % linesPerGroup !== 0) continue
    groups.push(code.slice(start, at + 1))
    start = at + 1
  }
  return [...groups, code.slice(start)]
}
