import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import pg from 'pg'
import pino from 'pino'
import type { Topics } from '../../src/replicas/bus.ts'
import { isConnected, openBus, type OpenBus } from '../../src/store/postgres/bus.ts'
import { openPostgres } from '../../src/store/postgres/postgres.ts'
import { query, type Database } from '../../src/store/database.ts'
import { until } from '../fixtures/async-client.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'

const log = pino({ level: 'silent' })
const run = { tenant: 't', owner: 'agent-core ann', requestId: 'r' }

let server: PostgresServer
let url: string
let databases: Database[]
let a: OpenBus
let b: OpenBus

before(async () => {
  server = await startPostgres()
  url = await server.createDatabase()
  databases = await Promise.all([openPostgres(url), openPostgres(url)])
  a = await openBus(databases[0]!, { id: 'a', log })
  b = await openBus(databases[1]!, { id: 'b', log })
})
after(async () => {
  await Promise.all([a.close(), b.close()])
  for (const one of databases) await one.close()
  await server.stop()
})

function next<T extends keyof Topics>(bus: OpenBus, topic: T): Promise<Topics[T]> {
  return new Promise((resolve) => {
    const stop = bus.subscribe(topic, (data) => {
      stop()
      resolve(data)
    })
  })
}

describe('News between processes on Postgres', () => {
  it('are heard by the others, in the order in which they were told, and not by who told them', async () => {
    const own: unknown[] = []
    const heard: number[] = []
    const stopOwn = a.subscribe('readable', (data) => own.push(data))
    const last = new Promise<void>((resolve) => {
      b.subscribe('readable', ({ upTo }) => {
        heard.push(upTo)
        if (upTo === 5) resolve()
      })
    })
    for (const upTo of [1, 2, 3]) a.publish('readable', { ...run, fence: 1, upTo })
    await new Promise(setImmediate)
    for (const upTo of [4, 5]) a.publish('readable', { ...run, fence: 1, upTo })
    await last
    stopOwn()
    assert.deepEqual(heard, [1, 2, 3, 4, 5])
    assert.deepEqual(own, [])
  })

  it('go on when the connections are cut, and who listens is told that some may be missing', async () => {
    const gap = new Promise<void>((resolve) => b.onGap(resolve))
    const client = new pg.Client(url)
    await client.connect()
    await client.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()',
    )
    await client.end()
    await gap
    const heard = next(b, 'cancel')
    // The pool of `a` finds out with a query.
    await databases[0]!.ping().catch(() => undefined)
    a.publish('cancel', run)
    assert.deepEqual(await heard, run)
  })

  it('show which processes are connected, also after their connections were cut', async () => {
    const { all, db } = databases[0]!
    const row = { alive_until: 0, started_at: null, host: null, version: null }
    await query(
      all.write,
      db.insertInto('processes').values([
        { id: 'b', ...row },
        { id: 'gone', ...row },
      ]),
    )
    const shown = db
      .selectFrom('processes')
      .select(['id', isConnected.as('isConnected')])
      .orderBy('id')
    const connections = await until(
      async () => (await query(all.read, shown)).rows,
      (rows) => rows.some((process) => process.isConnected),
    )
    assert.deepEqual(connections, [
      { id: 'b', isConnected: true },
      { id: 'gone', isConnected: false },
    ])
  })
})
