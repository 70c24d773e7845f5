import { totalmem } from 'node:os'
import process from 'node:process'
import type { Owner } from '../access/owner.ts'
import { type Document, unpackDocument, type PackedDocument } from './document.ts'
import { createFairPool, serviceItself } from '../processes/fair-pool.ts'
import { askOnce, parserLimits } from '../processes/question-pool.ts'

export type ParsedKind = 'markdown' | 'html' | 'pdf' | 'docx' | 'xlsx' | 'pptx' | 'epub' | 'odt' | 'eml'

export type ParseAnswer = { document: PackedDocument } | { error: string }

interface ParseLimits {
  maxMs: number
  heapMb: number
  /** Cancels the parsing. */
  signal?: AbortSignal
  /** Caller to whom the process is charged in the fair pool. Default: the service. */
  caller?: Owner | undefined
}

/** A caller does not wait longer than a minute for a page of text. Parsing takes up to twenty times the size of a document (50 MB at most). */
const defaults: ParseLimits = { maxMs: 60_000, heapMb: 1024 }

/** Metadata is small. The texts of a 50 MB document take about 100 MB, since sections repeat the text. */
const messages = { structure: 4 * 1024 * 1024, bytes: 300 * 1024 * 1024 }

/** Shared by the whole service: each parser may use a CPU, and waiting documents of up to 50 MB stay in memory. */
const parsers = createFairPool({ slots: slotsFor(process.constrainedMemory() || totalmem()), maxWaiting: 32 })

/** Parsers at a time, so that all of them fit into the memory beside the service: one in 2 GiB, four in 7 GB. */
export function slotsFor(memoryBytes: number): number {
  const [forService, forParser] = [600_000_000, 1_500_000_000]
  return Math.min(4, Math.max(1, Math.floor((Math.min(memoryBytes, totalmem()) - forService) / forParser)))
}

/** Parses in a separate process: parsers take seconds for a large document and gigabytes for a malicious one. Throws an `Error` with the reason. */
export async function parseInProcess(kind: ParsedKind, bytes: Uint8Array, limits: Partial<ParseLimits> = {}): Promise<Document> {
  const { caller = serviceItself, signal, maxMs, heapMb } = { ...defaults, ...limits }
  const module = new URL('./document-worker', import.meta.url)
  const worker = { module, limits: parserLimits(heapMb), messages }
  const answer = await parsers.use({ caller, signal }, () => askOnce<ParseAnswer>(worker, { kind, bytes }, { signal, limitMs: maxMs }))
  if ('error' in answer) throw new Error(answer.error)
  return unpackDocument(answer.document)
}
