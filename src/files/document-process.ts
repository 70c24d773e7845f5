import { askProcess } from './ask-process.ts'
import type { Document } from './document.ts'

export type ParsedKind = 'markdown' | 'html' | 'pdf' | 'docx' | 'xlsx'

export type ParseAnswer = { document: Document } | { error: string }

export interface ParseLimits {
  maxMs: number
  heapMb: number
  /** Nobody waits for it any more. */
  signal?: AbortSignal
}

/** Nobody waits longer for a page of text; a document of 50 MB may need twenty times as much while it is parsed. */
const defaults: ParseLimits = { maxMs: 60_000, heapMb: 1024 }

/** Parses in a process of its own: the parsers take seconds for a large document and gigabytes for a malicious one. Throws an `Error` with the reason. */
export async function parseInProcess(kind: ParsedKind, bytes: Uint8Array, limits: Partial<ParseLimits> = {}): Promise<Document> {
  const worker = new URL('./document-worker', import.meta.url)
  const answer = await askProcess<ParseAnswer>(worker, { kind, bytes }, { ...defaults, ...limits })
  if ('error' in answer) throw new Error(answer.error)
  return answer.document
}
