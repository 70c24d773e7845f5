import type { ChildProcess } from 'node:child_process'
import { createFairPool, type PoolRequest } from '../../processes/fair-pool.ts'
import { endProcess, setBusy, startLimited } from '../../processes/limited-process.ts'
import type { Reply, Request } from './child.ts'

type Work = Exclude<Request, { type: 'cancel' }>
type Answer = Exclude<Reply, { type: 'failed' }>
/** A request without its number. */
export type Question = Work extends infer W ? (W extends Work ? Omit<W, 'id'> : never) : never

/** A failure told by the query process. `table` is set when that table can't be read; then `reason` is for the operator alone. */
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

/**
 * DuckDB in a process of its own: there a query can't take the threads that the service reads files and checks keys with, its
 * memory has a hard end (text it builds is not counted by `memory_limit`), it sees no environment, and it can be killed.
 */
export interface QueryProcess {
  /** Rejects with `QueryFailure`, with `PoolBusy`, or the abort's reason. */
  ask(question: Question, asker: QueryAsker): Promise<Answer>
  close(): Promise<void>
}

export type QueryAsker = Required<PoolRequest>

export interface QueryProcessOptions {
  /** Of the rows of an answer, as JSON. */
  maxCharacters?: number
  /** How long a cancelled query may take to stop before its process is killed. */
  cancelGraceMs?: number
}

/** Each query holds a thread as long as it runs. */
const threads = 8

/** Processes that one query may lose to other queries; then the query fails. */
const maxRetries = 3

/** Of the descriptions of tables, and of what stands around rows. */
const describedBytes = 4 * 1024 * 1024

const options = {
  // Three databases hold 0.5 GB each; Node and the threads of DuckDB need the rest.
  limits: { dataKb: 2_000_000, heapMb: 512 },
  // TZ: DuckDB's binding shows instants in the zone of its process. The threads are those that queries run on.
  env: { TZ: 'UTC', UV_THREADPOOL_SIZE: String(threads) },
}

export function createQueryProcess({ maxCharacters = 20_000, cancelGraceMs = 1_000 }: QueryProcessOptions = {}): QueryProcess {
  const pool = createFairPool({ slots: threads })
  let child: ChildProcess | undefined
  const alive = new Set<ChildProcess>()
  /** Processes that were killed because a cancelled query did not stop. */
  const killedForOthers = new WeakSet<ChildProcess>()
  let lastId = 0
  const waiting = new Map<number, { resolve(reply: Reply): void; owner: ChildProcess }>()

  function started(): ChildProcess {
    if (child) return child
    const fresh = startLimited(new URL('./child', import.meta.url), {
      ...options,
      messages: { structure: describedBytes + 8 * maxCharacters },
    })
    child = fresh
    alive.add(fresh)
    fresh.on('message', (reply: Reply) => waiting.get(reply.id)?.resolve(reply))
    fresh.on('error', () => lose(fresh))
    fresh.on('exit', () => lose(fresh))
    return fresh
  }

  function lose(lost: ChildProcess): void {
    alive.delete(lost)
    lost.kill('SIGKILL')
    if (child === lost) child = undefined
    for (const [id, { resolve, owner }] of waiting) if (owner === lost) resolve({ id, type: 'failed', message: lostMessage })
  }

  /** One that gets no new work ends with the last of its old. */
  function endOrRest(owner: ChildProcess): void {
    if ([...waiting.values()].some((other) => other.owner === owner)) return
    if (owner === child) setBusy(owner, false)
    else owner.kill('SIGKILL')
  }

  /** A query whose process was killed for the sake of another query runs again: queries of all callers share a process, and only read. */
  async function work(question: Question, signal: AbortSignal): Promise<Answer> {
    for (let retries = maxRetries; ; retries--) {
      signal.throwIfAborted()
      const owner = started()
      const reply = await send(owner, question, signal)
      if (reply.type === 'failed' && reply.exhausted && child === owner) child = undefined
      signal.throwIfAborted()
      if (reply.type !== 'failed') return reply
      const isInnocent = reply.message === lostMessage && killedForOthers.has(owner)
      if (!isInnocent || retries === 0) throw new QueryFailure(reply.message, { table: reply.table, reason: reply.cause })
    }
  }

  async function send(owner: ChildProcess, question: Question, signal: AbortSignal): Promise<Reply> {
    const id = ++lastId
    let killing: NodeJS.Timeout | undefined
    const cancel = () => {
      if (owner.connected) owner.send({ id, type: 'cancel' } satisfies Request)
      killing = setTimeout(() => {
        killedForOthers.add(owner)
        // New queries start in a new process at once.
        if (child === owner) child = undefined
        owner.kill('SIGKILL')
      }, cancelGraceMs)
    }
    signal.addEventListener('abort', cancel, { once: true })
    try {
      return await new Promise<Reply>((resolve) => {
        waiting.set(id, { resolve, owner })
        setBusy(owner, true)
        owner.send({ ...question, id }, (error) => error && resolve({ id, type: 'failed', message: lostMessage }))
      })
    } finally {
      waiting.delete(id)
      endOrRest(owner)
      clearTimeout(killing)
      signal.removeEventListener('abort', cancel)
    }
  }

  async function close(): Promise<void> {
    child = undefined
    await Promise.all([...alive].map(endProcess))
  }

  return { ask: (question, asker) => pool.use(asker, () => work(question, asker.signal)), close }
}

const lostMessage = 'The query engine ended, most likely for want of memory. Ask for less at a time, or run the query again.'
