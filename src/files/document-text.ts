import { open, type FileHandle } from 'node:fs/promises'
import path from 'node:path'
import type { Owner } from '../access/owner.ts'
import { toDocument, type Document } from './document.ts'
import { parseInProcess, type ParsedKind } from './document-process.ts'
import { readMarkdown } from './markdown.ts'
import { messageOf } from '../errors.ts'

/** Larger documents take minutes and gigabytes to parse, and are of little use to an agent. */
export const maxDocumentBytes = 50_000_000

/** Documents up to these sizes are parsed within about 20 ms, a tenth of the time to start a process. */
const smallHtmlBytes = 50_000
const smallMarkdownBytes = 1_000_000

type Kind = 'text' | ParsedKind

const kindsByExtension: Readonly<Record<string, Kind>> = {
  '.md': 'markdown',
  '.markdown': 'markdown',
  '.mdx': 'markdown',
  '.html': 'html',
  '.htm': 'html',
  '.xhtml': 'html',
  '.pdf': 'pdf',
  '.docx': 'docx',
  '.xlsx': 'xlsx',
  '.xlsm': 'xlsx',
}

const names = { text: 'text', markdown: 'Markdown', html: 'HTML', pdf: 'PDF', docx: 'Word', xlsx: 'Excel' } satisfies Record<Kind, string>

/**
 * Reads a document: text, Markdown, HTML, PDF, DOCX or XLSX. Throws an `Error` with the reason in words, without the path of the file.
 * The parser processes are charged to `caller`, or to the service without a caller.
 */
export async function readDocument(absolutePath: string, caller?: Owner): Promise<Document> {
  await using file = await open(absolutePath, 'r')
  const bytes = await readBounded(file)
  const kind = kindsByExtension[path.extname(absolutePath).toLowerCase()] ?? kindOf(bytes)
  try {
    return await parse(kind, bytes, caller)
  } catch (error) {
    const reason = messageOf(error)
    throw new Error(`The document cannot be read as ${names[kind]}: ${reason}`, { cause: error })
  }
}

async function readBounded(file: FileHandle): Promise<Buffer> {
  const { size } = await file.stat()
  if (size > maxDocumentBytes) throw new Error(`The document has ${size} bytes, more than the limit of ${maxDocumentBytes}.`)
  return file.readFile()
}

async function parse(kind: Kind, bytes: Buffer, caller?: Owner): Promise<Document> {
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
  return { ...toDocument([{ heading: '', text: text.trim() }], {}), text }
}

/** Detects the kind by the first bytes, for names without a known extension. */
function kindOf(bytes: Buffer): Kind {
  const head = bytes.subarray(0, 1024).toString('latin1')
  if (head.startsWith('%PDF-')) return 'pdf'
  if (head.startsWith('PK\x03\x04'))
    return bytes.includes('word/document.xml') ? 'docx' : bytes.includes('xl/workbook.xml') ? 'xlsx' : 'text'
  return /^\s*(<!doctype html|<html)/i.test(head) ? 'html' : 'text'
}

/** Decodes UTF-8, UTF-16 with a byte order mark, or else Windows-1252, where every byte is a character. */
function decode(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes)
  if (bytes.subarray(0, 8192).includes(0)) throw new Error('it is not text')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}
