/** A document as text. `text` is what a reader gets, `sections` the same by heading. */
export interface Document {
  text: string
  sections: Section[]
  /** Front matter, or what the file says of itself (title, author, pages). */
  metadata: Metadata
}

export interface Section {
  /** The headings above the text, outermost first, joined by ` > `; empty before the first one. */
  heading: string
  text: string
}

export type Metadata = Record<string, string | number | boolean>

/** A document of sections alone: its text is they one after another. */
export function toDocument(sections: Section[], metadata: Metadata): Document {
  const kept = sections.filter(({ heading, text }) => heading !== '' || text !== '')
  return { text: kept.map(({ heading, text }) => (heading ? `${heading}\n\n${text}` : text)).join('\n\n'), sections: kept, metadata }
}

/** Only plain values can be filtered by and shown; a list becomes its elements with commas between, the rest is left out. */
export function toMetadata(values: unknown): Metadata {
  if (typeof values !== 'object' || values === null) return {}
  const plain = Object.entries(values).map(([key, value]) => [key, Array.isArray(value) ? value.filter(isPlain).join(', ') : value])
  return Object.fromEntries(plain.filter(([key, value]) => key !== '__proto__' && isPlain(value) && value !== ''))
}

function isPlain(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))
}
