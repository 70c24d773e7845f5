import process from 'node:process'
import type { ParseAnswer, ParsedKind } from './document-process.ts'
import { maxTextCharacters, type Document } from './document.ts'

/** A process for one document: told `{kind, bytes}`, it answers once; it ends when its channel closes. */

async function parse(kind: ParsedKind, bytes: Buffer): Promise<Document> {
  switch (kind) {
    case 'pdf':
      return (await import('./pdf.ts')).readPdf(bytes)
    case 'docx':
      return (await import('./office.ts')).readDocx(bytes)
    case 'xlsx':
      return (await import('./office.ts')).readXlsx(bytes)
    case 'html':
      return (await import('./html.ts')).readHtml(bytes.toString('utf8'))
  }
}

async function answer(kind: ParsedKind, bytes: Uint8Array): Promise<ParseAnswer> {
  try {
    const document = await parse(kind, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    // A small file may unpack to more than the service should take in.
    if (document.text.length > maxTextCharacters) throw new Error(`it has more than ${maxTextCharacters} characters of text`)
    return { document }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

process.once('message', ({ kind, bytes }: { kind: ParsedKind; bytes: Uint8Array }) => {
  void answer(kind, bytes).then((told) => process.send?.(told))
})
process.on('disconnect', () => process.exit(0))
