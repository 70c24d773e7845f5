import { orAborted } from '../../concurrency/or-aborted.ts'
import { serviceItself } from '../../processes/fair-pool.ts'
import { createQuestionPool } from '../../processes/question-pool.ts'
import type { PassageHit, SearchDocument, Tier, TierCounts, UnembeddedText } from '../retriever.ts'

/** Milliseconds without a question after which the process is ended, which holds the vectors. */
const idleMs = 120_000

/** The process of the indexes on disk, ended when idle. */
export function createDiskProcess() {
  const processes = createQuestionPool<Question, Answer>({
    module: new URL('./worker', import.meta.url),
    limits: { dataKb: 2_000_000, heapMb: 512 },
    messages: { structure: 64 * 1024 * 1024 },
    questionMs: 120_000,
    idleMs,
    maxProcesses: 1,
    errorTexts: {
      timedOut: 'The search took too long.',
      outOfMemory: 'The search needs too much memory.',
      crashed: 'The search stopped unexpectedly.',
      closed: 'The search is closed.',
    },
  })
  return {
    async ask(file: string, request: Request): Promise<Exclude<Answer, { error: string }>> {
      const answer = await processes.ask({ file, ...request }, new AbortController().signal, serviceItself)
      if ('error' in answer) throw new Error(`The search index failed: ${answer.error}`)
      return answer
    },
    close: processes.close,
  }
}

export type DiskProcess = ReturnType<typeof createDiskProcess>

/** The tier in a file of its own, which another process reads and writes. */
export async function openDiskTier(file: string, { ask }: Pick<DiskProcess, 'ask'>): Promise<Tier> {
  const { opened } = (await ask(file, { kind: 'open' })) as { opened: Opened }
  const numbers = new Map(opened.documents.map(({ id, number }) => [id, number]))
  const versions = new Map(opened.documents.map(({ id, version }) => [id, version]))
  let { counts, encoder: currentEncoder } = opened
  let maxNumber = opened.documents.reduce((max, { number }) => Math.max(max, number), 0)

  async function change(request: Request): Promise<Changed> {
    const { changed } = (await ask(file, request)) as { changed: Changed }
    counts = changed.counts
    return changed
  }

  /** A bit for each visible document. */
  function toBits(isVisible: (id: string) => boolean): Uint8Array {
    const bits = new Uint8Array((maxNumber >> 3) + 1)
    for (const [id, number] of numbers) if (isVisible(id)) bits[number >> 3]! |= 1 << (number & 7)
    return bits
  }

  return {
    async put(...documents) {
      const { hashes, numbers: added } = await change({ kind: 'put', documents })
      for (const [index, { id, version }] of documents.entries()) {
        numbers.set(id, added![index]!)
        versions.set(id, version)
        maxNumber = Math.max(maxNumber, added![index]!)
      }
      return hashes
    },
    async remove(ids) {
      const { hashes } = await change({ kind: 'remove', ids })
      for (const id of ids) {
        numbers.delete(id)
        versions.delete(id)
      }
      return hashes
    },
    versions: () => versions,
    async search(query, { limit, isVisible, vector, signal }) {
      const values = vector && new Uint8Array(vector.values.buffer, vector.values.byteOffset, vector.values.byteLength)
      const sent = vector && values ? { encoder: vector.encoder, values } : undefined
      const searching = ask(file, { kind: 'search', query, limit, visible: isVisible && toBits(isVisible), vector: sent })
      // An abort must not end the process, which serves other searches too.
      const answer = await (signal ? orAborted(searching, signal) : searching)
      return 'hits' in answer ? answer.hits : []
    },
    async missing(encoder, limit) {
      const answer = await ask(file, { kind: 'missing', encoder, limit })
      if (encoder !== currentEncoder) counts = { ...counts, embedded: 0 }
      currentEncoder = encoder
      return 'texts' in answer ? answer.texts : []
    },
    async setVectors(encoder, vectors) {
      const values = [...vectors.values()].map((vector) => vector && new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength))
      await change({ kind: 'set', encoder, hashes: [...vectors.keys()], vectors: values })
    },
    counts: (encoder) => ({ ...counts, embedded: encoder !== undefined && encoder === currentEncoder ? counts.embedded : 0 }),
    async close() {
      await ask(file, { kind: 'close' }).catch(() => undefined)
    },
  }
}

/** Questions to the process of an index on disk, and their answers. Each names the file of its index. */
export type Question = { file: string } & Request

export type Request =
  | { kind: 'open' }
  | { kind: 'close' }
  | { kind: 'put'; documents: readonly SearchDocument[] }
  | { kind: 'remove'; ids: readonly string[] }
  | { kind: 'search'; query: string; limit: number; visible: Uint8Array | undefined; vector: SentVector | undefined }
  | { kind: 'missing'; encoder: string; limit: number }
  | { kind: 'set'; encoder: string; hashes: readonly string[]; vectors: readonly (Uint8Array | null)[] }

/** The values as signed bytes. */
export interface SentVector {
  encoder: string
  values: Uint8Array
}

export interface Opened {
  documents: { number: number; id: string; version: string }[]
  counts: TierCounts
  encoder: string | undefined
}

export interface Changed {
  /** Hashes of texts that no document has any longer. */
  hashes: string[]
  /** The numbers of the documents that were put. */
  numbers?: number[]
  counts: TierCounts
}

export type Answer = { error: string } | { opened: Opened } | { changed: Changed } | { hits: PassageHit[] } | { texts: UnembeddedText[] }
