import type { Document } from './document.ts'
import { endProcess, setBusy, startLimited } from './limited-process.ts'

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
/** Of all threads, the garbage collector's too. */
const cpuSeconds = 180

/**
 * Parses in a process of its own: the parsers take seconds for a large document and gigabytes for a malicious one, and here
 * they hold up nobody, can be stopped, and end alone when memory does. Throws an `Error` with the reason.
 */
export async function parseInProcess(kind: ParsedKind, bytes: Uint8Array, limits: Partial<ParseLimits> = {}): Promise<Document> {
  const { maxMs, heapMb, signal } = { ...defaults, ...limits }
  const child = startLimited(new URL('./document-worker', import.meta.url), {
    limits: { dataKb: 2_000_000, heapMb, cpuSeconds },
    serialization: 'advanced',
  })
  setBusy(child, true)
  const { promise, resolve, reject } = Promise.withResolvers<ParseAnswer>()
  const timer = setTimeout(() => reject(new Error(`it took longer than ${maxMs / 1000} s`)), maxMs)
  const abort = () => reject(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  child.once('message', (answer: ParseAnswer) => resolve(answer))
  child.once('error', (cause) => reject(new Error('its parser can not be started', { cause })))
  child.once('exit', (_code, signal) => reject(new Error(signal ? 'it needs too much memory' : 'its parser stopped')))
  // What can not be sent is told by `exit`, which says more.
  child.send({ kind, bytes }, () => {})
  try {
    const answer = await promise
    if ('error' in answer) throw new Error(answer.error)
    return answer.document
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
    await endProcess(child)
  }
}
