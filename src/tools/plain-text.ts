/**
 * Text of a server, made safe to show to people and models: at most `maxCharacters`, without invisible characters. Bidirectional
 * controls, zero-width characters and the tag block can hide instructions in a description. Joiners are kept: some scripts need them.
 */
export function toPlain(text: string, maxCharacters: number): string {
  // Only a bounded prefix is cleaned, so that a huge text of invisible characters costs no time.
  const visible = text.slice(0, 4 * maxCharacters).replace(/[^\P{C}\n\t\u200c\u200d]/gu, '')
  return visible.length <= maxCharacters ? visible : `${visible.slice(0, maxCharacters - 1).toWellFormed()}…`
}

/** `toPlain` on a single line. */
export function toLine(text: string, maxCharacters: number): string {
  return toPlain(text, maxCharacters).replace(/\s+/g, ' ').trim()
}

/** True when a name matches one of the patterns, in which `*` stands for any characters. */
export function matchesAny(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matches(name, pattern.split('*')))
}

/** Matches part by part, each part at the first occurrence: linear time per part, without backtracking. */
function matches(name: string, [first = '', ...rest]: readonly string[]): boolean {
  const last = rest.pop()
  if (last === undefined) return name === first
  if (!name.startsWith(first) || !name.endsWith(last)) return false
  let at = first.length
  for (const part of rest) {
    const index = name.indexOf(part, at)
    if (index === -1) return false
    at = index + part.length
  }
  return at <= name.length - last.length
}

/** Decodes percent-encoding; a text with a faulty encoding stays as it is. */
export function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
