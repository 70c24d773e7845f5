/** A document as text. `text` is the whole document, `sections` the same text by heading. */
export interface Document {
  text: string
  sections: Section[]
  /** Front matter, or properties of the file (title, author, pages). */
  metadata: Metadata
}

export interface Section {
  /** The headings above the text, outermost first, joined by ` > `. Empty before the first heading. */
  heading: string
  text: string
}

export type Metadata = Record<string, string | number | boolean>

/** Builds a document from sections. The text is the sections in order. */
export function toDocument(sections: Section[], metadata: Metadata): Document {
  const nonEmpty = sections.filter(({ heading, text }) => heading !== '' || text !== '')
  return {
    text: nonEmpty.map(({ heading, text }) => (heading ? `${heading}\n\n${text}` : text)).join('\n\n'),
    sections: nonEmpty,
    metadata,
  }
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
