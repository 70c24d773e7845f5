/** True when a name matches one of the patterns, in which `*` stands for any characters. */
export function matchesAny(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matches(name, pattern.split('*')))
}

/** Matches part by part, each part at the first occurrence: linear time per part, without backtracking. */
function matches(name: string, [first = '', ...rest]: readonly string[]): boolean {
  const last = rest.pop()
  if (last === undefined) return name === first
  if (!name.startsWith(first) || !name.endsWith(last)) return false
  const end = name.length - last.length
  let at = first.length
  for (const part of rest) {
    const index = name.indexOf(part, at)
    if (index === -1) return false
    at = index + part.length
  }
  return at <= end
}
