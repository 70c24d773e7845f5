import type { Section } from '../files/document.ts'
import type { Passage } from '../search/retriever.ts'

/** Must be increased when the cutting of passages or the reading of documents changes: indexed documents are indexed again. */
export const passageFormat = 3

/** Long enough for an answer with its conditions, short enough for several passages in a chat. */
export const maxPassageCharacters = 1_200
const maxHeadingCharacters = 300

/** Cuts sections into passages: at paragraphs, otherwise at lines, sentences or words. Each passage keeps the heading and page of its section. */
export function toPassages(sections: readonly Section[]): Section[] {
  return sections.flatMap((section) =>
    fit(section, separators).map((part) => ({ ...section, heading: section.heading.slice(0, maxHeadingCharacters), ...part })),
  )
}

/** A passage for a retriever, with its place as data. */
export function toPassage({ heading, text, start, page }: Section): Passage {
  return { heading, text, data: { start, ...(page !== undefined && { page }) } }
}

/** The inverse of `toPassage`. */
export function toSection({ heading, text, data }: Passage): Section {
  const { start, page } = data as { start: number; page?: number }
  return { heading, text, start, ...(page !== undefined && { page }) }
}

/** A text with its place in the document. */
type Part = Pick<Section, 'text' | 'start'>

/** From coarsest to finest. A separator stays with the text before it. */
const separators: Separator[] = [
  afterBlankLines,
  (text) => text.split(/(?<=\n)/),
  (text) => text.split(/(?<=[.!?]\s)/),
  (text) => text.split(/(?<=\s)/),
]

type Separator = (text: string) => string[]

/** Uses a scan instead of a look-behind, which would take quadratic time on long white space. */
function afterBlankLines(text: string): string[] {
  const ends = [...text.matchAll(/\n\s*\n/g)].map((gap) => gap.index + gap[0].length)
  return [...ends, text.length].map((end, index) => text.slice(ends[index - 1] ?? 0, end))
}

function fit(part: Part, [separate, ...finer]: readonly Separator[]): Part[] {
  const whole = trim(part)
  if (whole.text.length <= maxPassageCharacters) return whole.text ? [whole] : []
  if (!separate) return chop(whole)
  const passages: Part[] = []
  let current: Part = { text: '', start: whole.start }
  let start = whole.start
  const close = () => {
    if (current.text.trim()) passages.push(trim(current))
    current = { text: '', start }
  }
  for (const text of separate(whole.text)) {
    if (current.text.length + text.trimEnd().length > maxPassageCharacters) close()
    if (text.trim().length <= maxPassageCharacters) current.text += text
    else passages.push(...fit({ text, start }, finer))
    start += text.length
    if (current.text === '') current.start = start
  }
  close()
  return passages
}

function trim({ text, start }: Part): Part {
  return { text: text.trim(), start: start + text.length - text.trimStart().length }
}

/** Cuts text without any space. A surrogate pair may be split, which does no further harm to such text. */
function chop({ text, start }: Part): Part[] {
  const count = Math.ceil(text.length / maxPassageCharacters)
  return Array.from({ length: count }, (_, index) => {
    const from = index * maxPassageCharacters
    return { text: text.slice(from, from + maxPassageCharacters).toWellFormed(), start: start + from }
  })
}
