import { open } from 'node:fs/promises'
import path from 'node:path'
import type { ParsedKind } from './document-process.ts'

/** Larger documents take minutes and gigabytes to parse, and are of little use to an agent. */
export const maxDocumentBytes = 50_000_000

export type DocumentKind = 'text' | ParsedKind

const kindsByExtension: Readonly<Record<string, DocumentKind>> = {
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
  '.pptx': 'pptx',
  '.pptm': 'pptx',
  '.ppsx': 'pptx',
  '.epub': 'epub',
  '.odt': 'odt',
  '.eml': 'eml',
}

/** The kind of a document by the extension of its name, or else by its bytes. */
export function kindOf(name: string, bytes: Buffer): DocumentKind {
  return kindsByExtension[path.extname(name).toLowerCase()] ?? kindOfBytes(bytes)
}

function kindOfBytes(bytes: Buffer): DocumentKind {
  const head = bytes.subarray(0, 1024).toString('latin1')
  if (head.startsWith('%PDF-')) return 'pdf'
  if (head.startsWith('PK\x03\x04')) return packedKindOf(bytes) ?? 'text'
  return /^\s*(<!doctype html|<html)/i.test(head) ? 'html' : 'text'
}

/** A name or content that a ZIP archive of the kind contains uncompressed. */
const marks = {
  docx: 'word/document.xml',
  xlsx: 'xl/workbook.xml',
  pptx: 'ppt/presentation.xml',
  epub: 'mimetypeapplication/epub+zip',
  odt: 'mimetypeapplication/vnd.oasis.opendocument.text',
} as const

export type PackedKind = keyof typeof marks

/** The kind of a document that is a ZIP archive. Undefined for other archives. */
export function packedKindOf(zip: Buffer): PackedKind | undefined {
  return (Object.keys(marks) as PackedKind[]).find((kind) => zip.includes(marks[kind]))
}

/** Bytes at the start of a file that tell text from other content. */
const headBytes = 8192

export function isUtf16Le(bytes: Buffer): boolean {
  return bytes[0] === 0xff && bytes[1] === 0xfe
}

export function isUtf16Be(bytes: Buffer): boolean {
  return bytes[0] === 0xfe && bytes[1] === 0xff
}

/** True when the bytes can be text: UTF-16 with a byte order mark, or any other text without a NUL at its start. */
export function mayBeText(bytes: Buffer): boolean {
  return isUtf16Le(bytes) || isUtf16Be(bytes) || !bytes.subarray(0, headBytes).includes(0)
}

/** True when a file has a kind and a size that `readDocument` accepts. Reads only the start of a file without a known extension. */
export async function isDocument(absolutePath: string): Promise<boolean> {
  await using file = await open(absolutePath, 'r')
  if ((await file.stat()).size > maxDocumentBytes) return false
  if (Object.hasOwn(kindsByExtension, path.extname(absolutePath).toLowerCase())) return true
  const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0)
  const head = buffer.subarray(0, bytesRead)
  return kindOfBytes(head) === 'text' ? mayBeText(head) : true
}
