import { askProcess } from '../../files/ask-process.ts'
import type { Api, ReadOptions } from './api.ts'

export interface ReadQuestion {
  bytes: Uint8Array
  options: ReadOptions
}

/** JSON is read twice as fast as what processes say to each other by themselves. */
export type ReadAnswer = { api: string } | { error: string }

/** Ten times the largest that is known to be in use. */
const limits = { maxMs: 60_000, heapMb: 1024 }

/** Reads a document in a process of its own: large ones take seconds, malicious ones more. Throws an `Error` with the reason. */
export async function readDocument(bytes: Uint8Array, options: ReadOptions, signal?: AbortSignal): Promise<Api> {
  const answer = await askProcess<ReadAnswer>(new URL('./worker', import.meta.url), { bytes, options }, { ...limits, signal })
  if ('error' in answer) throw new Error(answer.error)
  return JSON.parse(answer.api) as Api
}
