import { serveQuestions } from '../processes/serve-questions.ts'
import type { ParseAnswer, ParsedKind } from './document-process.ts'
import { damaged, type Document, packDocument } from './document.ts'

/** Process for a single document. */

/** Far more than people write, but few enough for the service to receive without delay. */
const maxCharacters = 75_000_000
const maxSections = 100_000

async function parse(kind: ParsedKind, bytes: Buffer): Promise<Document> {
  switch (kind) {
    case 'pdf':
      return (await import('./pdf.ts')).readPdf(bytes)
    case 'docx':
      return (await import('./office.ts')).readDocx(bytes)
    case 'xlsx':
      return (await import('./office.ts')).readXlsx(bytes)
    case 'pptx':
      return (await import('./office.ts')).readPptx(bytes)
    case 'odt':
      return (await import('./office.ts')).readOdt(bytes)
    case 'epub':
      return (await import('./epub.ts')).readEpub(bytes)
    case 'eml':
      return (await import('./eml.ts')).readEml(bytes)
    case 'markdown':
      return (await import('./markdown.ts')).readMarkdown(bytes.toString('utf8'))
    case 'html':
      return (await import('./html.ts')).readHtml(bytes.toString('utf8'))
  }
}

function checkSize({ text, sections }: Document): void {
  if (sections.length > maxSections) throw new Error(`it has more than ${maxSections} sections`)
  const characters = sections.reduce((sum, { heading }) => sum + heading.length, text.length)
  if (characters > maxCharacters) throw new Error('it has too much text')
}

async function answer(kind: ParsedKind, bytes: Uint8Array): Promise<ParseAnswer> {
  try {
    const document = await parse(kind, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    checkSize(document)
    return { document: packDocument(document) }
  } catch (error) {
    // An error of another class is one of the program or of a library, whose text is for programmers.
    return { error: error instanceof Error && error.constructor === Error ? error.message : damaged }
  }
}

serveQuestions(({ kind, bytes }: { kind: ParsedKind; bytes: Uint8Array }) => answer(kind, bytes))
