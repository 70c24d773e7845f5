import type { Document } from '../../files/document.ts'
import { isScan } from '../../files/document-text.ts'

/**
 * A document of a chat as text, without a copy of the text in each section. The text is stored with the run: an upload that is deleted later
 * is not missed.
 */
export interface SentDocument {
  name: string
  text: string
  sections: { heading: string; start: number; length: number; page?: number }[]
}

export function toSentDocument(name: string, { text, sections }: Document): SentDocument {
  const packed = sections.map(({ heading, start, text: { length }, page }) => ({ heading, start, length, ...(page && { page }) }))
  return { name, text, sections: packed }
}

export function toDocument({ text, sections }: SentDocument): Document {
  return {
    text,
    sections: sections.map(({ length, ...place }) => ({ ...place, text: text.slice(place.start, place.start + length) })),
    metadata: {},
  }
}

/** A document; undefined for a scanned one, which only a model can read. */
export async function textOrScan(reading: Promise<Document>): Promise<Document | undefined> {
  try {
    return await reading
  } catch (error) {
    if (isScan(error)) return undefined
    throw error
  }
}

/** Gives files of the same name different names, so that a tool can read each. */
export function withDistinctNames(documents: readonly SentDocument[], taken: readonly string[]): SentDocument[] {
  const names = new Set(taken)
  return documents.map((document) => {
    let name = document.name
    for (let n = 2; names.has(name); n++) name = `${n} ${document.name}`
    names.add(name)
    return { ...document, name }
  })
}
