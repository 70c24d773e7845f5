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
export interface Place {
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
