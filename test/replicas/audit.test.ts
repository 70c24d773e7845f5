import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkLedger } from '../../src/audit/check-ledger.ts'
import { loadSigningKeys } from '../../src/service/audit.ts'
import { loadSettings } from '../../src/settings/settings.ts'
import { createLedgerSource } from '../../src/store/audit/read.ts'
import { createSealStore } from '../../src/store/audit/seal.ts'
import { openPostgres } from '../../src/store/postgres/postgres.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const program = path.join(import.meta.dirname, '../fixtures/sealing-process.ts')
const replicas = 3
const kills = Number(process.env['KILLS'] ?? 5)

test('three processes that record and seal at once, and are killed, leave chains without gap and fork', async (t) => {
  const url = await server.createDatabase()
  const errors: string[] = []
  async function start(): Promise<ChildProcess> {
    const child = spawn(process.execPath, [program, url], { stdio: ['ignore', 'pipe', 'pipe'] })
    t.after(() => child.kill('SIGKILL'))
    child.stderr.setEncoding('utf8').on('data', (text: string) => errors.push(text))
    await once(child.stdout, 'data')
    return child
  }
  const kill = async (child: ChildProcess) => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  const children = await Promise.all(Array.from({ length: replicas }, start))
  for (let n = 0; n < kills; n++) {
    await sleep(100 + Math.random() * 200)
    await kill(children[n % replicas]!)
    children[n % replicas] = await start()
  }
  await Promise.all(children.map(kill))

  const database = await openPostgres(url, { connections: 2 })
  t.after(() => database.close())
  const keys = (await loadSigningKeys(database, loadSettings({ DATABASE_URL: url, SECRET_KEY: 'x'.repeat(32) }, '/')))!
  const source = createLedgerSource(database)
  const tenants = await source.tenants()
  assert.deepEqual(tenants, ['acme', 'beta'])
  const store = createSealStore(database)
  for (const tenant of tenants) while ((await store.seal(tenant, { limit: 200, now: Date.now(), keys }))?.count !== 0);
  const chains = await checkLedger(source, { keys })
  const counts = await database.db
    .selectFrom('audit_events')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .groupBy('tenant')
    .orderBy('tenant')
    .execute()
  assert.deepEqual(
    chains.map(({ count, to }) => [count, to]),
    counts.map(({ count }) => [count, count]),
  )
  t.diagnostic(chains.map(({ tenant, count, signedTo }) => `${tenant}: ${count} events, signed to ${signedTo}`).join('; '))
  assert.ok(chains.every(({ count, signedTo }) => count > 1000 && signedTo > 0))
  assert.deepEqual(errors, [])
})
