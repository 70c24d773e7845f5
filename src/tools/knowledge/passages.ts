import type { Section } from '../../files/document.ts'

/** Long enough for an answer with its conditions, short enough for several passages in a chat. */
export const maxPassageCharacters = 1_200
const maxHeadingCharacters = 300

/** Cuts sections into passages: at paragraphs, otherwise at lines, sentences or words. Each passage keeps the heading of its section. */
export function toPassages(sections: readonly Section[]): Section[] {
  return sections.flatMap(({ heading, text }) =>
    fit(text, separators).map((part) => ({ heading: heading.slice(0, maxHeadingCharacters), text: part })),
  )
}

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

function fit(text: string, [separate, ...finer]: readonly Separator[]): string[] {
  const whole = text.trim()
  if (whole.length <= maxPassageCharacters) return whole ? [whole] : []
  if (!separate) return chop(whole)
  const passages: string[] = []
  let current = ''
  const close = () => {
    if (current.trim()) passages.push(current.trim())
    current = ''
  }
  for (const part of separate(whole)) {
    if (current.length + part.trimEnd().length > maxPassageCharacters) close()
    if (part.trim().length <= maxPassageCharacters) current += part
    else passages.push(...fit(part, finer))
  }
  close()
  return passages
}

/** Cuts text without any space. A surrogate pair may be split, which does no further harm to such text. */
function chop(text: string): string[] {
  const count = Math.ceil(text.length / maxPassageCharacters)
  return Array.from({ length: count }, (_, index) =>
    text.slice(index * maxPassageCharacters, (index + 1) * maxPassageCharacters).toWellFormed(),
  )
}
