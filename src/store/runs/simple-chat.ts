import type { Begun, EndedRun, NewRun, StoredRun, Turn } from '../../runs/run-store.ts'
import type { RunKey } from '../../runs/run.ts'

/** Chats without special conditions, which each database stores with fewer statements than others. */

/** The end of a run, and the row of its hour that counts the run. */
export interface Ending {
  key: RunKey
  fence: number
  ended: EndedRun
  hourRow: number
}

/**
 * Outcome of the fast path. `done`: stored. `unchanged`: the fast path did not apply and changed nothing, so the caller works step by step.
 * `unknown`: the answer of the database was lost, so the chat may have been stored.
 */
export type Attempt<R> = { kind: 'done'; result: R } | { kind: 'unchanged' } | { kind: 'unknown' }

export interface FastPath {
  /** `onCommitted`: as in `RunStore.begin`. */
  begin(newRun: NewRun, onCommitted?: (turn: Turn) => void): Promise<Attempt<Begun>>
  /** Resolves an `unknown` begin: the run stored with the request id is the begun one when this process holds it. */
  findBegun?(newRun: NewRun, storedRun: StoredRun): Promise<Begun | undefined>
  finish(ending: Ending): Promise<Attempt<unknown>>
}

/** The outcome `unchanged`. */
export const unchanged: Promise<{ kind: 'unchanged' }> = Promise.resolve({ kind: 'unchanged' })

/** False when the run has an event, images, files, notifications, several messages or a condition, or is unstored. */
export function isSimpleBegin({ messages, event, images, files, notifications, afterMessages, unstored }: NewRun): boolean {
  return messages.length === 1 && !event && !images && !files && !notifications && afterMessages === undefined && !unstored
}

/** False when the run has no answer, or has an error, jobs, files or result images. */
export function isSimpleEnd({ message, error, jobs, dropsResultImages }: EndedRun): boolean {
  return message !== undefined && !error && jobs.length === 0 && !message.data?.artifacts && !dropsResultImages
}

/** A started run waits long for an unreachable database: no other process could resume the run either. */
export const runRetry = { retryForMs: 60_000 }
