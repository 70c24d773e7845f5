import { Worker } from 'node:worker_threads'
import type { Document } from './document.ts'

export type ParsedKind = 'html' | 'pdf' | 'docx' | 'xlsx'

/** Nobody waits longer for a page of text. */
const maxParseMs = 60_000
/** A document of 50 MB may need ten times as much while it is parsed. */
const resourceLimits = { maxOldGenerationSizeMb: 1024 }

/**
 * Parses in a thread of its own: the parsers take seconds for a large document and gigabytes for a malicious one, and here
 * they hold up nobody and can be stopped. Throws an `Error` with the reason.
 */
export async function parseInThread(kind: ParsedKind, bytes: Uint8Array, maxMs = maxParseMs): Promise<Document> {
  // Parsers warn on the console; no environment, since they have no business with it.
  const options = { workerData: { kind, bytes }, resourceLimits, env: {}, stdout: true, stderr: true, name: 'document' }
  const worker = new Worker(new URL('./document-worker.ts', import.meta.url), options)
  const { promise, resolve, reject } = Promise.withResolvers<Document | { error: string }>()
  const timer = setTimeout(() => reject(new Error(`it took longer than ${maxMs / 1000} s`)), maxMs)
  worker.once('message', resolve)
  worker.once('error', (error) => reject(toReadable(error)))
  worker.once('exit', () => reject(new Error('its parser stopped')))
  try {
    const answer = await promise
    if ('error' in answer) throw new Error(answer.error)
    return answer
  } finally {
    clearTimeout(timer)
    await worker.terminate()
  }
}

function toReadable(error: unknown): Error {
  const isMemory = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
  return isMemory ? new Error('it needs too much memory') : new Error('its parser stopped', { cause: error })
}
