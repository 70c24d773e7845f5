/** A part of a text, with its place. */
export interface TextRange {
  text: string
  /** Characters before the part. */
  start: number
}

/** The sentences and lines of a text, without the white space around them. A point inside of a number or a name ends no sentence. */
export function sentencesOf(text: string): TextRange[] {
  const sentences: TextRange[] = []
  let start = 0
  const close = (end: number) => {
    const part = text.slice(start, end)
    const trimmed = part.trim()
    if (trimmed !== '') sentences.push({ text: trimmed, start: start + part.length - part.trimStart().length })
    start = end
  }
  for (const { index } of text.matchAll(/[.!?](?=\s)|\n/g)) close(index + 1)
  close(text.length)
  return sentences
}
