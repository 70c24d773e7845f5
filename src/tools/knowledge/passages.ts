import type { Section } from '../../files/document.ts'

/** Long enough to hold an answer with its conditions, short enough that a handful fits beside a chat. */
export const maxPassageCharacters = 1_200
const maxHeadingCharacters = 300

/** Cuts sections into passages: at paragraphs, else at lines, sentences and words; each keeps its section's heading. */
export function toPassages(sections: readonly Section[]): Section[] {
  return sections.flatMap(({ heading, text }) =>
    fit(text, separators).map((part) => ({ heading: heading.slice(0, maxHeadingCharacters), text: part })),
  )
}

/** From the coarsest to the finest; each stays with the text before it. */
const separators: Separator[] = [
  afterBlankLines,
  (text) => text.split(/(?<=\n)/),
  (text) => text.split(/(?<=[.!?]\s)/),
  (text) => text.split(/(?<=\s)/),
]

type Separator = (text: string) => string[]

/** By a scan: a look back from each place over all white space before it takes the square of its length. */
function afterBlankLines(text: string): string[] {
  const ends = [...text.matchAll(/\n\s*\n/g)].map((gap) => gap.index + gap[0].length)
  return [...ends, text.length].map((end, index) => text.slice(ends[index - 1] ?? 0, end))
}

function fit(text: string, [separate, ...finer]: readonly Separator[]): string[] {
  const whole = text.trim()
  if (whole.length <= maxPassageCharacters) return whole ? [whole] : []
  if (!separate) return chop(whole)
  const passages: string[] = []
  let open = ''
  const close = () => {
    if (open.trim()) passages.push(open.trim())
    open = ''
  }
  for (const part of separate(whole)) {
    if (open.length + part.trimEnd().length > maxPassageCharacters) close()
    if (part.trim().length <= maxPassageCharacters) open += part
    else passages.push(...fit(part, finer))
  }
  close()
  return passages
}

/** For text without a single space. A character of two units may be cut: it is not a word either way. */
function chop(text: string): string[] {
  const count = Math.ceil(text.length / maxPassageCharacters)
  return Array.from({ length: count }, (_, index) =>
    text.slice(index * maxPassageCharacters, (index + 1) * maxPassageCharacters).toWellFormed(),
  )
}
