import { usualWaitMs } from '../../processes/fair-pool.ts'
import { Pool, type Lease, type LeaseRequest } from '../../processes/pool.ts'
import { startWorker, WorkerLost, type Worker } from '../../processes/worker.ts'
import type { Question, Reply } from './child.ts'

type Answer = Exclude<Reply, { type: 'failed' }>
type QueryWorker = Worker<Question, Reply>

/** A failure reported by the query process. `table` names an unreadable table; `reason` is then for the operator alone. */
export class QueryFailure extends Error {
  readonly table: string | undefined
  readonly reason: string | undefined

  constructor(message: string, options: { table?: string; reason?: string } = {}) {
    super(message)
    this.name = 'QueryFailure'
    this.table = options.table
    this.reason = options.reason
  }
}

export type QueryRequest = Pick<LeaseRequest<QueryWorker>, 'caller' | 'signal'>

export interface QueryProcessOptions {
  /** Maximum size of the rows of an answer as JSON. */
  maxCharacters?: number
  /** Milliseconds until the process of a cancelled query is killed. */
  cancelGraceMs?: number
}

/** Each query occupies a thread while running. */
const threads = 8

/** Maximum number of repetitions of a query whose process was killed because of another query. */
const maxRetries = 3

/** Maximum size of table descriptions and of the message around rows. */
const describedBytes = 4 * 1024 * 1024

/**
 * DuckDB in a separate process. Queries cannot use up the threads with which the service reads files and checks keys, memory has a hard limit
 * (`memory_limit` does not count text built by a query), no environment variables are visible, and the process can be killed.
 */
export function createQueryProcess({ maxCharacters = 20_000, cancelGraceMs = 1_000 }: QueryProcessOptions = {}) {
  const options = {
    module: new URL('./child', import.meta.url),
    // Three databases of up to 0.5 GB each, plus Node and the threads of DuckDB.
    limits: { dataKb: 2_000_000, heapMb: 512 },
    // TZ: DuckDB's binding formats instants in the time zone of the process. UV_THREADPOOL_SIZE: queries run on these threads.
    env: { TZ: 'UTC', UV_THREADPOOL_SIZE: String(threads) },
    messages: { structure: describedBytes + 8 * maxCharacters },
  }
  const pool = new Pool<QueryWorker>({
    start: (closing) => startWorker(options, closing),
    affinity: 'none',
    max: 1,
    callsAtOnce: threads,
    closedText: 'The query engine is closed.',
  })

  async function work(question: Question, signal: AbortSignal, { process, retire }: Lease<QueryWorker>): Promise<Answer> {
    const reply = await process.ask(question, { signal, graceMs: cancelGraceMs })
    if (reply.type !== 'failed') return reply
    if (reply.exhausted) retire()
    throw new QueryFailure(reply.message, { table: reply.table, reason: reply.cause })
  }

  /** Repeats a query whose process was killed because of another query: all callers share a process, and queries only read. */
  async function ask(question: Question, { caller, signal }: QueryRequest): Promise<Answer> {
    for (let retries = maxRetries; ; retries--) {
      try {
        return await pool.use({ caller, signal, maxWaitMs: usualWaitMs }, (lease) => work(question, signal, lease))
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof WorkerLost)) throw error
        const isInnocent = error.reason === 'stopped'
        if (!isInnocent || retries === 0) throw new QueryFailure(crashMessage)
      }
    }
  }

  return { ask, clear: () => pool.clear(), close: () => pool.close() }
}

const crashMessage = 'The query engine ended, most likely because it ran out of memory. Ask for less at a time, or run the query again.'
