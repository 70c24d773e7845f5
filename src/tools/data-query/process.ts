import type { ChildProcess } from 'node:child_process'
import { createFairPool, type PoolRequest } from '../../processes/fair-pool.ts'
import { endProcess, setBusy, startLimited } from '../../processes/limited-process.ts'
import type { Reply, Request } from './child.ts'

type Work = Exclude<Request, { type: 'cancel' }>
type Answer = Exclude<Reply, { type: 'failed' }>
/** A request without its number. */
export type Question = Work extends infer W ? (W extends Work ? Omit<W, 'id'> : never) : never

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

/**
 * DuckDB in a separate process. Queries cannot use up the threads with which the service reads files and checks keys, memory has a hard limit
 * (`memory_limit` does not count text built by a query), no environment variables are visible, and the process can be killed.
 */
export interface QueryProcess {
  /** Rejects with `QueryFailure`, with `PoolBusy`, or the abort's reason. */
  ask(question: Question, request: QueryRequest): Promise<Answer>
  close(): Promise<void>
}

export type QueryRequest = Required<PoolRequest>

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

const options = {
  // Three databases of up to 0.5 GB each, plus Node and the threads of DuckDB.
  limits: { dataKb: 2_000_000, heapMb: 512 },
  // TZ: DuckDB's binding formats instants in the time zone of the process. UV_THREADPOOL_SIZE: queries run on these threads.
  env: { TZ: 'UTC', UV_THREADPOOL_SIZE: String(threads) },
}

export function createQueryProcess({ maxCharacters = 20_000, cancelGraceMs = 1_000 }: QueryProcessOptions = {}): QueryProcess {
  const pool = createFairPool({ slots: threads })
  let child: ChildProcess | undefined
  const alive = new Set<ChildProcess>()
  /** Processes killed because a cancelled query did not stop. */
  const killedForOthers = new WeakSet<ChildProcess>()
  let lastId = 0
  const waiting = new Map<number, { resolve(reply: Reply): void; owner: ChildProcess }>()

  function currentChild(): ChildProcess {
    if (child) return child
    const fresh = startLimited(new URL('./child', import.meta.url), {
      ...options,
      messages: { structure: describedBytes + 8 * maxCharacters },
    })
    child = fresh
    alive.add(fresh)
    fresh.on('message', (reply: Reply) => waiting.get(reply.id)?.resolve(reply))
    fresh.on('error', () => removeChild(fresh))
    fresh.on('exit', () => removeChild(fresh))
    return fresh
  }

  function removeChild(exited: ChildProcess): void {
    alive.delete(exited)
    exited.kill('SIGKILL')
    if (child === exited) child = undefined
    for (const [id, { resolve, owner }] of waiting) if (owner === exited) resolve({ id, type: 'failed', message: crashMessage })
  }

  /** After the last query, the current process becomes idle, and a replaced process is killed. */
  function endOrIdle(owner: ChildProcess): void {
    if ([...waiting.values()].some((entry) => entry.owner === owner)) return
    if (owner === child) setBusy(owner, false)
    else owner.kill('SIGKILL')
  }

  /** Repeats a query whose process was killed because of another query: all callers share a process, and queries only read. */
  async function work(question: Question, signal: AbortSignal): Promise<Answer> {
    for (let retries = maxRetries; ; retries--) {
      signal.throwIfAborted()
      const owner = currentChild()
      const reply = await send(owner, question, signal)
      if (reply.type === 'failed' && reply.exhausted && child === owner) child = undefined
      signal.throwIfAborted()
      if (reply.type !== 'failed') return reply
      const isInnocent = reply.message === crashMessage && killedForOthers.has(owner)
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
        // New queries start in a new process immediately.
        if (child === owner) child = undefined
        owner.kill('SIGKILL')
      }, cancelGraceMs)
    }
    signal.addEventListener('abort', cancel, { once: true })
    try {
      return await new Promise<Reply>((resolve) => {
        waiting.set(id, { resolve, owner })
        setBusy(owner, true)
        owner.send({ ...question, id }, (error) => error && resolve({ id, type: 'failed', message: crashMessage }))
      })
    } finally {
      waiting.delete(id)
      endOrIdle(owner)
      clearTimeout(killing)
      signal.removeEventListener('abort', cancel)
    }
  }

  async function close(): Promise<void> {
    child = undefined
    await Promise.all([...alive].map(endProcess))
  }

  return { ask: (question, request) => pool.use(request, () => work(question, request.signal)), close }
}

const crashMessage = 'The query engine ended, most likely because it ran out of memory. Ask for less at a time, or run the query again.'
