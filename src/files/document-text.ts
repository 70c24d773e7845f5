import { open, type FileHandle, stat } from 'node:fs/promises'
import type { Owner } from '../access/owner.ts'
import { noTextInPdf, toSection, type Document } from './document.ts'
import { isUtf16Be, isUtf16Le, kindOf, maxDocumentBytes, mayBeText, type DocumentKind } from './document-kind.ts'
import { parseInProcess } from './document-process.ts'
import { readMarkdown } from './markdown.ts'
import { messageOf } from '../errors.ts'
import { PoolBusy } from '../processes/fair-pool.ts'
import { WorkerLost } from '../processes/worker.ts'

/** Documents up to these sizes are parsed within about 20 ms, a tenth of the time to start a process. */
const smallHtmlBytes = 50_000
const smallMarkdownBytes = 1_000_000

const names = {
  text: 'text',
  markdown: 'Markdown',
  html: 'HTML',
  pdf: 'PDF',
  docx: 'Word',
  xlsx: 'Excel',
  pptx: 'PowerPoint',
  epub: 'EPUB',
  odt: 'OpenDocument text',
  eml: 'e-mail',
} satisfies Record<DocumentKind, string>

/**
 * A document that cannot be read, now or later, unless the document changes. All other errors concern the machine: a full pool, or a
 * process that cannot start.
 */
export class DocumentFault extends Error {}

/**
 * Reads a document: text, Markdown, HTML, PDF, DOCX, XLSX, PPTX, EPUB, ODT or EML. Throws a `DocumentFault` or another
 * `Error` with the reason in words, without the path of the file.
 * The parser processes are charged to `caller`, or to the service without a caller.
 */
export async function readDocument(absolutePath: string, caller?: Owner): Promise<Document> {
  await using file = await open(absolutePath, 'r')
  const bytes = await readBounded(file)
  // Without the await, a fault would reject while the file is closed, before a caller could handle it.
  return await readDocumentBytes(bytes, kindOf(absolutePath, bytes), caller)
}

/** Reads a document that is in memory, as `readDocument` does. */
export async function readDocumentBytes(bytes: Buffer, kind: DocumentKind, caller?: Owner): Promise<Document> {
  try {
    return await parse(kind, bytes, caller)
  } catch (error) {
    const text = `The document cannot be read as ${names[kind]}: ${messageOf(error)}`
    throw isTemporary(error) ? new Error(text, { cause: error }) : new DocumentFault(text, { cause: error })
  }
}

/** The number of pages of a PDF document without text, which has pictures of its pages; undefined for any other fault. */
export function pagesOfScan(error: unknown): number | undefined {
  if (!(error instanceof DocumentFault) || !error.message.includes(noTextInPdf)) return undefined
  return Number(/\((\d{1,9}) pages\)/.exec(error.message)?.[1] ?? 0)
}

function isTemporary(error: unknown): boolean {
  return error instanceof PoolBusy || error instanceof WorkerLost
}

async function readBounded(file: FileHandle): Promise<Buffer> {
  const { size } = await file.stat()
  if (size > maxDocumentBytes) throw new DocumentFault(`The document has ${size} bytes, more than the limit of ${maxDocumentBytes}.`)
  return file.readFile()
}

async function parse(kind: DocumentKind, bytes: Buffer, caller?: Owner): Promise<Document> {
  switch (kind) {
    case 'text':
      return toPlain(decode(bytes))
    case 'markdown':
      return bytes.length <= smallMarkdownBytes ? readMarkdown(decode(bytes)) : parseInProcess(kind, Buffer.from(decode(bytes)), { caller })
    case 'html':
      return bytes.length <= smallHtmlBytes
        ? (await import('./html.ts')).readHtml(decode(bytes))
        : parseInProcess(kind, Buffer.from(decode(bytes)), { caller })
    default:
      return parseInProcess(kind, bytes, { caller })
  }
}

function toPlain(text: string): Document {
  const whole = toSection(text, 0, text.length, '')
  return { text, sections: whole.text === '' ? [] : [whole], metadata: {} }
}

/** Decodes UTF-8, UTF-16 with a byte order mark, or else Windows-1252, where every byte is a character. */
function decode(bytes: Buffer): string {
  if (isUtf16Le(bytes)) return new TextDecoder('utf-16le').decode(bytes)
  if (isUtf16Be(bytes)) return new TextDecoder('utf-16be').decode(bytes)
  if (!mayBeText(bytes)) throw new Error('it is not text')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

export interface DocumentCache {
  /** Like `readDocument`, but an unchanged file is parsed only once. */
  read(absolutePath: string, caller: Owner): Promise<Document>
}

interface CachedDocument {
  version: string
  document: Promise<Document>
  characters: number
}

/** Caches the most recently read documents. Default size: 20 million characters (about 40 MB). */
export function createDocumentCache(maxCharacters = 20_000_000, read = readDocument): DocumentCache {
  // A Map keeps insertion order, so the first key is the least recently used.
  const entries = new Map<string, CachedDocument>()

  function evict(): void {
    let total = [...entries.values()].reduce((sum, { characters }) => sum + characters, 0)
    for (const [key, entry] of entries) {
      if (total <= maxCharacters) return
      entries.delete(key)
      total -= entry.characters
    }
  }

  function start(absolutePath: string, version: string, caller: Owner): CachedDocument {
    const entry: CachedDocument = { version, document: read(absolutePath, caller), characters: 0 }
    entry.document.then(
      ({ text }) => {
        // The sections are slices of the text.
        entry.characters = text.length
        evict()
      },
      () => entries.get(absolutePath) === entry && entries.delete(absolutePath),
    )
    return entry
  }

  return {
    async read(absolutePath, caller) {
      const { mtimeMs, size } = await stat(absolutePath)
      const version = `${mtimeMs}-${size}`
      const cached = entries.get(absolutePath)
      const entry = cached?.version === version ? cached : start(absolutePath, version, caller)
      entries.delete(absolutePath)
      entries.set(absolutePath, entry)
      return entry.document
    },
  }
}
