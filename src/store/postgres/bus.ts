import type pg from 'pg'
import type { Logger } from 'pino'
import { localBus, type Bus, type Topic, type Topics } from '../../replicas/bus.ts'
import type { Database, PostgresServer } from '../database.ts'

interface Options {
  /** Names this process: what it tells itself is not heard. */
  id: string
  log: Logger
}

export interface OpenBus extends Bus {
  close(): Promise<void>
}

/** `News` by LISTEN and NOTIFY where the database is a Postgres server; an embedded one has no other processes to tell. */
export async function openBus(database: Database, options: Options): Promise<OpenBus> {
  const { postgres } = database
  if (!postgres) return { ...localBus, close: async () => undefined }
  const heard = createSubscriptions()
  const listening = await listen(postgres, { ...options, heard })
  const { tell, flush } = createPublisher(database, options)
  const close = async () => void (await Promise.all([flush(), listening.close()]))
  return { publish: tell, subscribe: heard.on, onGap: heard.onGap, close }
}

/** Tells every process that listens; for a command line, which does not. Resolves when it is told. */
export async function publishOnce<T extends Topic>(database: Database, topic: T, data: Topics[T]): Promise<void> {
  if (database.postgres) await notify(database, [JSON.stringify({ from: '', topic, data } satisfies Message)])
}

async function notify(database: Database, texts: readonly string[]): Promise<void> {
  await database.all.read.execute('select pg_notify($1, text) from unnest($2::text[]) as text', [channel, texts])
}

const channel = 'agent_core'
const firstRetryMs = 200
const maxRetryMs = 5000

interface Message {
  from: string
  topic: Topic
  data: Topics[Topic]
}

/** What is told in one turn of the event loop goes out together, behind what was told before. */
function createPublisher(database: Database, { id, log }: Options) {
  let waiting: string[] = []
  let sending: Promise<void> | undefined

  async function send(): Promise<void> {
    await new Promise(setImmediate)
    while (waiting.length > 0) {
      const texts = waiting
      waiting = []
      await notify(database, texts).catch((err: unknown) => log.warn({ err }, 'Other processes could not be told'))
    }
    sending = undefined
  }

  const tell: Bus['publish'] = (topic, data) => {
    // While the database is away nobody would hear it later than they look for themselves.
    if (waiting.length < maxWaiting) waiting.push(JSON.stringify({ from: id, topic, data } satisfies Message))
    sending ??= send()
  }
  return { tell, flush: async () => sending }
}

const maxWaiting = 10_000

type Subscriptions = ReturnType<typeof createSubscriptions>

function createSubscriptions() {
  const listeners = new Map<Topic, Set<(data: never) => void>>()
  const gaps = new Set<() => void>()
  return {
    on<T extends Topic>(topic: T, listener: (data: Topics[T]) => void): () => void {
      const those = listeners.get(topic) ?? new Set()
      listeners.set(topic, those.add(listener))
      return () => void those.delete(listener)
    },
    onGap(listener: () => void): () => void {
      gaps.add(listener)
      return () => void gaps.delete(listener)
    },
    hear({ topic, data }: Message): void {
      for (const listener of listeners.get(topic) ?? []) listener(data as never)
    },
    tellGap(): void {
      for (const listener of gaps) listener()
    },
  }
}

/** Keeps a connection that listens, and makes another when it breaks. */
async function listen(
  postgres: PostgresServer,
  { id, log, heard }: Options & { heard: Subscriptions },
): Promise<{ close(): Promise<void> }> {
  let client: pg.Client | undefined
  let retry: NodeJS.Timeout | undefined
  let isClosed = false

  async function open(): Promise<void> {
    const next = await postgres.connect()
    try {
      next.on('notification', ({ payload }) => hear(payload ?? ''))
      await next.query(`listen ${channel}`)
      // `end` comes however the connection is lost.
      next.once('end', () => lost(firstRetryMs))
    } catch (error) {
      await next.end().catch(() => undefined)
      throw error
    }
    client = next
    if (isClosed) await next.end()
  }

  function hear(payload: string): void {
    try {
      const message = JSON.parse(payload) as Message
      if (message.from !== id) heard.hear(message)
    } catch (err) {
      log.warn({ err }, 'News that can not be read')
    }
  }

  function lost(delayMs: number): void {
    client = undefined
    if (isClosed) return
    retry = setTimeout(() => void again(delayMs), delayMs).unref()
  }

  async function again(delayMs: number): Promise<void> {
    try {
      await open()
      heard.tellGap()
    } catch (err) {
      log.warn({ err }, 'The database does not let this process listen')
      lost(Math.min(delayMs * 2, maxRetryMs))
    }
  }

  await open()
  return {
    async close() {
      isClosed = true
      clearTimeout(retry)
      await client?.end().catch(() => undefined)
    },
  }
}
