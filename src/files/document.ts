/** A document as text. `text` is the whole document, `sections` the same text by heading. */
export interface Document {
  text: string
  sections: Section[]
  /** Front matter, or properties of the file (title, author, pages). */
  metadata: Metadata
}

/** The fault of a PDF document whose pages are pictures. */
export const noTextInPdf = 'it has no text: it seems to be scanned'

/** Runs the parser of a library. An error of the library names its internals, so callers get a text of the service, with the error as the cause. */
export async function byLibrary<T>(parse: () => T | Promise<T>): Promise<T> {
  try {
    return await parse()
  } catch (cause) {
    throw new Error(damaged, { cause })
  }
}

export const damaged = 'it is damaged, or of another format'

/** A part of a document. */
export interface Section extends Place {
  /** The headings above the text, outermost first, joined by ` > `. Empty before the first heading. */
  heading: string
  text: string
}

/** The place of a text in its document. */
interface Place {
  /** Characters of the document before the text. */
  start: number
  /** Page or slide of the text, from 1, if the format has pages. */
  page?: number
}

export type Metadata = Record<string, string | number | boolean>

/** Builds a document from its parts in order, without empty parts. The text has each heading before its part. */
export function toDocument(parts: readonly Omit<Section, 'start'>[], metadata: Metadata): Document {
  const texts: string[] = []
  const sections: Section[] = []
  let end = 0
  for (const part of parts.filter(({ heading, text }) => heading !== '' || text !== '')) {
    const before = (texts.length > 0 ? '\n\n' : '') + (part.heading ? `${part.heading}\n\n` : '')
    texts.push(before, part.text)
    sections.push({ ...part, start: end + before.length })
    end += before.length + part.text.length
  }
  return { text: texts.join(''), sections, metadata }
}

/** The characters from `start` to `end` of a document as a section, without the white space around them. */
export function toSection(document: string, start: number, end: number, heading: string): Section {
  const part = document.slice(start, end)
  return { heading, text: part.trim(), start: start + part.length - part.trimStart().length }
}

/** Keeps plain values, which can be shown and filtered by. Lists become their elements joined by commas; all other values are dropped. */
export function toMetadata(values: unknown): Metadata {
  if (typeof values !== 'object' || values === null) return {}
  const plain = Object.entries(values).map(([key, value]) => [key, Array.isArray(value) ? value.filter(isPlain).join(', ') : value])
  return Object.fromEntries(plain.filter(([key, value]) => key !== '__proto__' && isPlain(value) && value !== ''))
}

function isPlain(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))
}

/** A document in a message between two processes: texts as bytes, which take no more memory than their size. */
export interface PackedDocument {
  metadata: Metadata
  /** UTF-8. */
  text: Uint8Array
  /** UTF-8 of the heading of each section. */
  headings: Uint8Array
  /** For each section: bytes of the heading, start and length of the text, page or 0; as 32-bit little-endian numbers. */
  numbers: Uint8Array
}

/** Size of the numbers of a section. */
const sectionBytes = 16

export function packDocument({ text, sections, metadata }: Document): PackedDocument {
  const headings = sections.map(({ heading }) => Buffer.from(heading))
  const numbers = Buffer.alloc(sections.length * sectionBytes)
  for (const [index, section] of sections.entries()) {
    const values = [headings[index]!.length, section.start, section.text.length, section.page ?? 0]
    for (const [at, value] of values.entries()) numbers.writeUInt32LE(value, index * sectionBytes + at * 4)
  }
  return { metadata, text: Buffer.from(text), headings: Buffer.concat(headings), numbers }
}

export function unpackDocument({ metadata, text: textBytes, headings, numbers }: PackedDocument): Document {
  const text = toBuffer(textBytes).toString('utf8')
  const headingBytes = toBuffer(headings)
  const values = toBuffer(numbers)
  const sections: Section[] = []
  let headingStart = 0
  for (let at = 0; at + sectionBytes <= values.length; at += sectionBytes) {
    const headingEnd = headingStart + values.readUInt32LE(at)
    const start = values.readUInt32LE(at + 4)
    const page = values.readUInt32LE(at + 12)
    const heading = headingBytes.toString('utf8', headingStart, headingEnd)
    sections.push({ heading, text: text.slice(start, start + values.readUInt32LE(at + 8)), start, ...(page > 0 && { page }) })
    headingStart = headingEnd
  }
  return { text, sections, metadata }
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** The text with each white space as one blank. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
