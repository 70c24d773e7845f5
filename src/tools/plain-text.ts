/**
 * Text of a server as people and models are shown it: at most so many characters, and none that nobody sees. Those of a direction, of no
 * width and of the tag block hide instructions in a description; joiners are part of some scripts.
 */
export function toPlain(text: string, maxCharacters: number): string {
  // A little more than is kept, so that a text of nothing else is not looked through to its end.
  const visible = text.slice(0, 4 * maxCharacters).replace(/[^\P{C}\n\t\u200c\u200d]/gu, '')
  return visible.length <= maxCharacters ? visible : `${visible.slice(0, maxCharacters - 1).toWellFormed()}…`
}

/** The same in one line. */
export function toLine(text: string, maxCharacters: number): string {
  return toPlain(text, maxCharacters).replace(/\s+/g, ' ').trim()
}
