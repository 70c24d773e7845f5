import type { Document, Metadata, Section } from './document.ts'

/** A document in a message between two processes: texts as bytes, which take no more memory than their size. */
export interface PackedDocument {
  metadata: Metadata
  /** UTF-8 of the text, then of the heading and the text of each section. */
  texts: Uint8Array
  /** Byte length of each text, as 32-bit little-endian numbers. */
  lengths: Uint8Array
}

export function packDocument({ text, sections, metadata }: Document): PackedDocument {
  const texts = [text, ...sections.flatMap((section) => [section.heading, section.text])].map((part) => Buffer.from(part))
  const lengths = Buffer.alloc(texts.length * 4)
  for (const [at, { length }] of texts.entries()) lengths.writeUInt32LE(length, at * 4)
  return { metadata, texts: Buffer.concat(texts), lengths }
}

export function unpackDocument({ metadata, texts, lengths }: PackedDocument): Document {
  const bytes = Buffer.from(texts.buffer, texts.byteOffset, texts.byteLength)
  const numbers = Buffer.from(lengths.buffer, lengths.byteOffset, lengths.byteLength)
  const parts: string[] = []
  let start = 0
  for (let at = 0; at < numbers.length; at += 4) {
    const end = start + numbers.readUInt32LE(at)
    parts.push(bytes.toString('utf8', start, end))
    start = end
  }
  const [text = '', ...rest] = parts
  const sections: Section[] = []
  for (let at = 0; at + 1 < rest.length; at += 2) sections.push({ heading: rest[at]!, text: rest[at + 1]! })
  return { text, sections, metadata }
}
