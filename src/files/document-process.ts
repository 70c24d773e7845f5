import type { Owner } from '../access/owner.ts'
import { askProcess } from '../processes/ask-process.ts'
import type { Document } from './document.ts'
import { createFairPool, serviceItself } from '../processes/fair-pool.ts'
import { unpackDocument, type PackedDocument } from './packed-document.ts'

export type ParsedKind = 'markdown' | 'html' | 'pdf' | 'docx' | 'xlsx'

export type ParseAnswer = { document: PackedDocument } | { error: string }

export interface ParseLimits {
  maxMs: number
  heapMb: number
  /** Nobody waits for it any more. */
  signal?: AbortSignal
  /** Whose share of the processes is taken. Default: the service's own. */
  caller?: Owner | undefined
}

/** Nobody waits longer for a page of text; a document of 50 MB may need twenty times as much while it is parsed. */
const defaults: ParseLimits = { maxMs: 60_000, heapMb: 1024 }

/** Metadata is small. The texts of a document of 50 MB are some 100 MB, since sections repeat them. */
const messages = { structure: 4 * 1024 * 1024, bytes: 300 * 1024 * 1024 }

/** Of the whole service: each may take a gigabyte and a processor. Documents of 50 MB wait in memory. */
const parsers = createFairPool({ slots: 4, maxWaiting: 32 })

/** Parses in a process of its own: the parsers take seconds for a large document and gigabytes for a malicious one. Throws an `Error` with the reason. */
export async function parseInProcess(kind: ParsedKind, bytes: Uint8Array, limits: Partial<ParseLimits> = {}): Promise<Document> {
  const worker = new URL('./document-worker', import.meta.url)
  const { caller = serviceItself, ...asked } = { ...defaults, ...limits }
  const parse = () => askProcess<ParseAnswer>(worker, { kind, bytes }, { ...asked, messages })
  const answer = await parsers.use({ caller, signal: asked.signal }, parse)
  if ('error' in answer) throw new Error(answer.error)
  return unpackDocument(answer.document)
}
