import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import type { ArtifactBytes, ArtifactLocation } from '../artifacts/artifact-store.ts'
import type { Section } from '../files/document.ts'
import type { Passage } from '../search/retriever.ts'
import { uploadFolderOf } from '../uploads/uploads.ts'

/** Must be increased when the cutting of passages or the reading of documents changes: indexed documents are indexed again. */
export const passageFormat = 4

/** Long enough for an answer with its conditions, short enough for several passages in a chat. */
export const maxPassageCharacters = 1_200
const maxHeadingCharacters = 300

/**
 * Cuts sections into passages: at paragraphs, otherwise at lines, sentences or words. Each passage keeps the heading and page of its section. A
 * heading without a text is a passage too, unless the next section has the heading among its own.
 */
export function toPassages(sections: readonly Section[]): Section[] {
  return sections.flatMap((section, index) => {
    const parts = fit(section, separators)
    const isAlone = parts.length === 0 && section.heading !== '' && !sections[index + 1]?.heading.startsWith(`${section.heading} > `)
    const heading = section.heading.slice(0, maxHeadingCharacters)
    return (isAlone ? [{ text: '', start: section.start }] : parts).map((part) => ({ ...section, heading, ...part }))
  })
}

/** The text of a whole document, without layout. */
export function toDocumentText(passages: readonly Section[]): string {
  return passages
    .flatMap(({ heading, text }, at) => [heading === passages[at - 1]?.heading ? '' : heading, text])
    .filter((part) => part !== '')
    .join('\n\n')
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

/** The passages of uploaded documents, stored beside the bytes of each upload and removed with them. */
export interface PassageFiles {
  /** Durable when resolved. */
  save(uploadId: string, passages: readonly Section[]): Promise<void>
  /** Undefined when there is no such document any more. */
  load(uploadId: string): Promise<Section[] | undefined>
  /** Removes everything of the upload. */
  remove(uploadId: string): Promise<void>
}

/** Files that are read at once, in about a millisecond. */
const smallBytes = 100_000
/** Bytes that are written at a time. */
const chunkBytes = 64 * 1024

export function createPassageFiles(bytes: ArtifactBytes): PassageFiles {
  return {
    save: (uploadId, passages) => bytes.put(locationOf(uploadId), toLines(passages)),
    async load(uploadId) {
      const file = await bytes.open(locationOf(uploadId))
      if (!file) return undefined
      if (file.size <= smallBytes) return linesOf(await text(file.read())).map((line) => JSON.parse(line) as Section)
      const passages: Section[] = []
      // Read line by line: a large document does not block the process.
      for await (const line of createInterface({ input: file.read(), crlfDelay: Infinity })) {
        if (line !== '') passages.push(JSON.parse(line) as Section)
      }
      return passages
    },
    remove: (uploadId) => bytes.deleteAll(uploadFolderOf(uploadId)),
  }
}

function linesOf(content: string): string[] {
  return content.split('\n').filter((line) => line !== '')
}

function locationOf(uploadId: string): ArtifactLocation {
  return { folder: uploadFolderOf(uploadId), id: 'passages' }
}

async function* toLines(passages: readonly Section[]): AsyncGenerator<Uint8Array, void> {
  let text = ''
  for (const passage of passages) {
    text += `${JSON.stringify(passage)}\n`
    if (text.length < chunkBytes) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(text)
}
