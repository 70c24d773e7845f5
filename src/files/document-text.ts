import { open, type FileHandle } from 'node:fs/promises'
import path from 'node:path'
import type { Owner } from '../access/owner.ts'
import { toDocument, type Document } from './document.ts'
import { parseInProcess, type ParsedKind } from './document-process.ts'
import { readMarkdown } from './markdown.ts'

/** Larger documents take minutes and gigabytes to parse, and nobody reads them through an agent. */
export const maxDocumentBytes = 50_000_000

/** Parsed within some 20 ms, a tenth of what a process takes to start. */
const smallHtmlBytes = 50_000
const smallMarkdownBytes = 1_000_000

type Kind = 'text' | ParsedKind

const kindsByExtension: Readonly<Record<string, Kind>> = {
  ...{ '.md': 'markdown', '.markdown': 'markdown', '.mdx': 'markdown' },
  ...{ '.html': 'html', '.htm': 'html', '.xhtml': 'html' },
  ...{ '.pdf': 'pdf', '.docx': 'docx', '.xlsx': 'xlsx', '.xlsm': 'xlsx' },
}

const names = { text: 'text', markdown: 'Markdown', html: 'HTML', pdf: 'PDF', docx: 'Word', xlsx: 'Excel' } satisfies Record<Kind, string>

/**
 * Reads a document of any kind that it knows: text, Markdown, HTML, PDF, DOCX, XLSX. Throws an `Error` that says in words why a
 * file can't be read, without its path. The caller is whose share of the parsers is taken; without one it is the service's.
 */
export async function readDocument(absolutePath: string, caller?: Owner): Promise<Document> {
  await using file = await open(absolutePath, 'r')
  const bytes = await readBounded(file)
  const kind = kindsByExtension[path.extname(absolutePath).toLowerCase()] ?? kindOf(bytes)
  try {
    return await parse(kind, bytes, caller)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`The document can not be read as ${names[kind]}: ${why}`, { cause: error })
  }
}

async function readBounded(file: FileHandle): Promise<Buffer> {
  const { size } = await file.stat()
  if (size > maxDocumentBytes) throw new Error(`The document has ${size} bytes, more than the ${maxDocumentBytes} that can be read.`)
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

/** For a name that says nothing: by the first bytes. */
function kindOf(bytes: Buffer): Kind {
  const head = bytes.subarray(0, 1024).toString('latin1')
  if (head.startsWith('%PDF-')) return 'pdf'
  if (head.startsWith('PK\x03\x04'))
    return bytes.includes('word/document.xml') ? 'docx' : bytes.includes('xl/workbook.xml') ? 'xlsx' : 'text'
  return /^\s*(<!doctype html|<html)/i.test(head) ? 'html' : 'text'
}

/** UTF-8, UTF-16 by its mark, else Windows-1252, in which every byte is a character. */
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
