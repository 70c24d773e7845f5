import type { Document, Metadata, Section } from './document.ts'

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
