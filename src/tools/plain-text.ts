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
