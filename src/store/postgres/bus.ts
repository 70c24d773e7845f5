import { sql } from 'kysely'
import type pg from 'pg'
import type { Logger } from 'pino'
import { localBus, type Bus, type Topic, type Topics } from '../../replicas/bus.ts'
import type { Database, PostgresServer } from '../database.ts'
import { reachState } from '../../states.ts'

interface BusOptions {
  /** Id of this process, whose own messages are not delivered back. */
  id: string
  log: Logger
}

export interface OpenBus extends Bus {
  close(): Promise<void>
}

/** `Bus` by LISTEN and NOTIFY on a Postgres server. An embedded database has no other processes to reach. */
export async function openBus(database: Database, options: BusOptions): Promise<OpenBus> {
  const { postgres } = database
  if (!postgres) return { ...localBus, close: async () => undefined }
  const subscriptions = createSubscriptions()
  const listening = await listen(postgres, { ...options, subscriptions })
  const { publish, flush } = createPublisher(database, options)
  const close = async () => void (await Promise.all([flush(), listening.close()]))
  return { publish, subscribe: subscriptions.subscribe, onGap: subscriptions.onGap, close }
}

/** Publishes one message without subscribing, for the command line. Resolves when the message is sent. */
export async function publishOnce<T extends Topic>(database: Database, topic: T, data: Topics[T]): Promise<void> {
  if (database.postgres) await notify(database, [JSON.stringify({ from: '', topic, data } satisfies Message)])
}

async function notify(database: Database, texts: readonly string[]): Promise<void> {
  await database.all.read.execute('select pg_notify($1, text) from unnest($2::text[]) as text', [channel, texts])
}

const channel = 'agent_core'
/** The first key of the advisory locks of connected processes; the second is the hash of a process id. */
const connectedKey = 4815162
/** Milliseconds of silence after which the server gives up the connection of a machine that is gone. A stalled process is not silent. */
const silentMs = 30_000
const firstRetryMs = 200
const maxRetryMs = 5000

interface Message {
  from: string
  topic: Topic
  data: Topics[Topic]
}

/** Sends the messages of one turn of the event loop in one query, in the order published. */
function createPublisher(database: Database, { id, log }: BusOptions) {
  let waiting: string[] = []
  let sending: Promise<void> | undefined

  async function send(): Promise<void> {
    await new Promise(setImmediate)
    while (waiting.length > 0) {
      const texts = waiting
      waiting = []
      await notify(database, texts).catch((err: unknown) => log.warn({ err }, 'Messages to other processes could not be sent'))
    }
    sending = undefined
  }

  const publish: Bus['publish'] = (topic, data) => {
    // While the database is unreachable, messages beyond the limit are dropped: subscribers poll after a gap anyway.
    if (waiting.length < maxWaiting) waiting.push(JSON.stringify({ from: id, topic, data } satisfies Message))
    sending ??= send()
  }
  return { publish, flush: async () => sending }
}

const maxWaiting = 10_000

type Subscriptions = ReturnType<typeof createSubscriptions>

function createSubscriptions() {
  const listeners = new Map<Topic, Set<(data: never) => void>>()
  const gaps = new Set<() => void>()
  return {
    subscribe<T extends Topic>(topic: T, listener: (data: Topics[T]) => void): () => void {
      const topicListeners = listeners.get(topic) ?? new Set()
      listeners.set(topic, topicListeners.add(listener))
      return () => void topicListeners.delete(listener)
    },
    onGap(listener: () => void): () => void {
      gaps.add(listener)
      return () => void gaps.delete(listener)
    },
    deliver({ topic, data }: Message): void {
      for (const listener of listeners.get(topic) ?? []) listener(data as never)
    },
    reportGap(): void {
      for (const listener of gaps) listener()
    },
  }
}

/** True while the process of a row of `processes` is connected. A stall does not end the connection of a process; its death does. */
export const isConnected = sql<boolean>`exists (select from pg_locks
  where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
    and classid = ${sql.lit(connectedKey)} and objid::bigint = (hashtext(processes.id)::bigint & 4294967295) and objsubid = 2)`

/** Listens, and holds the lock of a connected process, which several connections of the process may hold. */
function listenQuery(client: pg.Client, id: string): string {
  return `listen ${channel};
    set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 4; set tcp_user_timeout = ${silentMs};
    select pg_advisory_lock_shared(${connectedKey}, hashtext(${client.escapeLiteral(id)}))`
}

/** Holds a connection that listens, and reconnects when the connection breaks. */
async function listen(
  postgres: PostgresServer,
  { id, log, subscriptions }: BusOptions & { subscriptions: Subscriptions },
): Promise<{ close(): Promise<void> }> {
  let client: pg.Client | undefined
  let retry: NodeJS.Timeout | undefined
  let isClosed = false

  async function open(): Promise<void> {
    const next = await postgres.connect()
    try {
      next.on('notification', ({ payload }) => receive(payload ?? ''))
      await next.query(listenQuery(next, id))
      // `end` is emitted however the connection is lost.
      next.once('end', () => scheduleReconnect(firstRetryMs))
    } catch (error) {
      await next.end().catch(() => undefined)
      throw error
    }
    client = next
    if (isClosed) await next.end()
  }

  function receive(payload: string): void {
    try {
      const message = JSON.parse(payload) as Message
      if (message.from !== id) subscriptions.deliver(message)
    } catch (err) {
      log.warn({ err }, 'A message of another process cannot be parsed')
    }
  }

  function scheduleReconnect(delayMs: number): void {
    client = undefined
    if (isClosed) return
    retry = setTimeout(() => void reconnect(delayMs), delayMs).unref()
  }

  async function reconnect(delayMs: number): Promise<void> {
    try {
      await open()
      reachState('bus-gap')
      subscriptions.reportGap()
    } catch (err) {
      log.warn({ err }, 'The connection that listens for messages could not be opened')
      scheduleReconnect(Math.min(delayMs * 2, maxRetryMs))
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
