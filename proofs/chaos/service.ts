import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import pg from 'pg'
import { createMutex } from '../../src/concurrency/mutex.ts'
import { freePort, startPostgres } from '../../test/fixtures/postgres-server.ts'
import { access } from './clients/start.ts'
import { startCutProxy, type CutProxy } from './cut-proxy.ts'
import type { Query } from './last-reads.ts'
import { callbackSecret, documentOf, prices, type Outside } from './outside.ts'
import { Replica } from './replica.ts'

/** Replicas with a shared database. */
export interface Service {
  replicas: readonly Replica[]
  /** Proxy between each replica and the database, by index of the replica. */
  proxies: readonly CutProxy[]
  query: Query
  /** `awayMs`: how long the server is away. */
  restartPostgres(awayMs?: number): Promise<void>
  /** Terminates all database connections at the server. */
  terminateBackends(): Promise<void>
  stop(): Promise<void>
}

interface ServiceOptions {
  /** Number of replicas. */
  count: number
  outside: Pick<Outside, 'modelUrl' | 'ledgerUrl' | 'callbackHost'>
  random(): number
  /** See `Options`. */
  from: string | undefined
}

/** Prepares replicas with a new shared database, without a start of the processes. `folder`: for all files. */
export async function openService(folder: string, { count, outside, random, from }: ServiceOptions): Promise<Service> {
  const postgres = await startPostgres()
  const restarts = createMutex()
  // An earlier version refuses a database of this one, and makes its own.
  const databaseUrl = await (from === undefined ? postgres.createDatabase() : postgres.createEmptyDatabase())
  const proxies = await Promise.all(Array.from({ length: count }, () => startCutProxy(Number(new URL(databaseUrl).port), random)))
  const replicas = await Promise.all(proxies.map(({ port }, index) => openReplica(index, toAddress(databaseUrl, port))))

  async function openReplica(index: number, database: string): Promise<Replica> {
    const name = `replica-${index + 1}`
    const ownFolder = path.join(folder, name)
    await mkdir(ownFolder)
    for (const tool of ['ledger', 'vault', 'page'] as const)
      await writeFile(path.join(ownFolder, `${tool}.json`), JSON.stringify(documentOf(tool, outside.ledgerUrl)))
    // JSON is valid YAML.
    await writeFile(path.join(ownFolder, 'agent.yaml'), JSON.stringify(configurationOf(outside)))
    const environment = {
      DATABASE_URL: database,
      AGENT_CONFIG: path.join(ownFolder, 'agent.yaml'),
      DATA_DIR: path.join(ownFolder, 'data'),
      SECRET_KEY: 'only-for-this-run-and-for-nothing-else',
      CALLBACK_SECRET: callbackSecret,
      CALLBACK_RETRY_SECONDS: Array.from({ length: 20 }, () => '0.5').join(','),
      OUTBOUND_ALLOW: outside.callbackHost,
      LOG_FORMAT: 'json',
      CLOCK_SKEW_MS: String(-index * skewMs),
    }
    return new Replica({ name, port: await freePort(), folder, environment, checkout: from })
  }

  async function query(sql: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client(databaseUrl)
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }

  return {
    replicas,
    proxies,
    query,
    restartPostgres: (awayMs) => restarts.run(() => postgres.restart(awayMs)),
    terminateBackends: async () => {
      const end = 'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'
      // A database that is being restarted has ended its connections.
      await query(end).catch(() => undefined)
    },
    async stop() {
      for (const replica of replicas) await replica.end('SIGKILL')
      for (const proxy of proxies) proxy.close()
      await postgres.stop()
    },
  }
}

/** The difference between the clocks of two replicas. The first has the clock of the database. */
const skewMs = 1500

function toAddress(databaseUrl: string, port: number): string {
  const address = new URL(databaseUrl)
  address.port = String(port)
  return address.href
}

/** Budgets that pay for every call, and two that a few callers use up again and again. */
const budgets = [
  { name: 'callers', scope: 'caller', window: 'hour', limit: { usd: 100_000 } },
  // Hours that begin at other minutes, so that a window ends in most long runs.
  { name: 'callers-half', scope: 'caller', window: 'hour', timezone: 'Asia/Kolkata', limit: { usd: 100_000 } },
  { name: 'callers-quarter', scope: 'caller', window: 'hour', timezone: 'Asia/Kathmandu', limit: { usd: 100_000 } },
  { name: 'runs', scope: 'run', limit: { tokens: 100_000_000 } },
  { name: 'tenant', scope: 'tenant', window: 'month', limit: { usd: 1_000_000, tokens: 1_000_000_000_000 } },
  { name: 'spenders', scope: 'caller', window: 'day', limit: { usd: 0.01 }, match: { roles: ['spender'] } },
  { name: 'pausers', scope: 'caller', window: 'day', limit: { usd: 0.01 }, match: { roles: ['pauser'] }, on_exceeded: 'pause' },
]

function configurationOf({ modelUrl, ledgerUrl }: ServiceOptions['outside']) {
  const primary = { provider: 'openai-compatible', model: 'scripted', base_url: modelUrl, prices, max_output_tokens: 500 }
  const tool = (name: string) => ({ name, type: 'openapi', trust: 'trusted', config: { spec: `${name}.json`, base_url: ledgerUrl } })
  return {
    llms: { primary },
    limits: { max_session_wait: 5, reconnect_grace: 1 },
    access,
    budgets,
    containment: { after_untrusted: 'approve' },
    tools: [tool('ledger'), { ...tool('vault'), approval: 'required' }, { ...tool('page'), trust: 'untrusted' }],
  }
}
