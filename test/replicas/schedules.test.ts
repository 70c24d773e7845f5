import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openPostgres } from '../../src/store/postgres/postgres.ts'
import { publishOnce } from '../../src/store/postgres/bus.ts'
import { until } from '../fixtures/async-client.ts'
import { startModelServer } from '../fixtures/model-server.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { makeFolder } from '../fixtures/process.ts'
import { createClient, type Client } from '../fixtures/service-client.ts'
import { scripted, signingKeyOf, startService } from '../fixtures/service.ts'
import { createKey } from '../../src/access/keys/keys.ts'
import { loadSettings } from '../../src/settings/settings.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const program = path.join(import.meta.dirname, '../fixtures/scheduled-process.ts')
const minute = 60_000
/** A minute of the schedules is a second. */
const speed = 60
/** Seconds of kills; `SECONDS=60` is the whole test. */
const seconds = Number(process.env['SECONDS'] ?? 12)
const killEveryMs = 2000
const schedules = 20
const question = { messages: [{ role: 'user', content: 'How much was sold?' }] }

interface Replica {
  child: ChildProcess
  /** The address; undefined until the replica listens. */
  url: string | undefined
}

/** Replicas on one database, each of which may be killed and started again. */
async function startReplicas(t: TestContext) {
  const model = await startModelServer({ text: ['Four.'] })
  t.after(() => model.close())
  const url = await server.createDatabase()
  const env = { PATH: process.env['PATH'], DATABASE_URL: url, SECRET_KEY: 'x'.repeat(32), DATABASE_CONNECTIONS: '8' }
  const config = JSON.stringify({ llms: { primary: scripted(model) }, limits: { async_concurrency: 8 } })
  const errors: string[] = []
  const database = await openPostgres(url, { connections: 4 })
  t.after(() => database.close())
  const origin = (await database.all.read.execute<{ now: number }>('select (extract(epoch from now()) * 1000)::bigint as now', [])).rows[0]!
    .now

  async function start(): Promise<Replica> {
    const folder = await makeFolder(t)
    const child = spawn(process.execPath, [program, folder, config, String(origin), String(speed)], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const replica: Replica = { child, url: undefined }
    child.stdout.setEncoding('utf8').on('data', (text: string) => (replica.url = text.trim()))
    child.stderr.setEncoding('utf8').on('data', (text: string) => errors.push(text))
    t.after(() => child.kill('SIGKILL'))
    return replica
  }

  const settings = loadSettings({ DATABASE_URL: url, SECRET_KEY: env.SECRET_KEY }, await makeFolder(t))
  const clientOf = async (address: string) => {
    const request = { sub: 'ann', tenant: 'default', roles: ['user'], expiresInSeconds: 400 * 86_400, now: Date.now() }
    return createClient(address, (await createKey(await signingKeyOf(settings), request)).key)
  }
  return { start, clientOf, database, errors, origin }
}

async function create(client: Client, body: object): Promise<string> {
  const reply = await client.request('POST', '/core/v1/schedules', {
    body: { cron: '* * * * *', timezone: 'UTC', request: question, ...body },
  })
  assert.equal(reply.status, 201, reply.text)
  return reply.body.id
}

interface FireRow {
  schedule_id: string
  scheduled_for: number
  outcome: string
  count: number
  run_id: string | null
}

test(`of three replicas one is killed every 2 s for ${seconds} s: each occurrence has one fire and at most one run, and none is missing`, async (t) => {
  const { start, clientOf, database, errors } = await startReplicas(t)
  const first = await start()
  const address = await until(async () => first.url, Boolean)
  const replicas = [first, await start(), await start()]
  await until(async () => replicas.every(({ url }) => url), Boolean)
  const client = await clientOf(address!)
  const ids: string[] = []
  for (let n = 0; n < schedules; n++)
    ids.push(
      await create(client, {
        overlap: n % 2 ? 'skip' : 'allow',
        session: n % 4 < 2 ? 'new' : 'same',
        catch_up: { policy: n % 3 ? 'all' : 'latest' },
      }),
    )
  // The clock is faster than the sleep of the replicas, who look sooner when they are told.
  const ticking = setInterval(() => void publishOnce(database, 'schedules', {}).catch(() => undefined), 200)
  let kills = 0
  for (const end = performance.now() + seconds * 1000; performance.now() < end; kills++) {
    const index = kills % replicas.length
    replicas[index]!.child.kill('SIGKILL')
    await once(replicas[index]!.child, 'exit')
    replicas[index] = await start()
    await sleep(killEveryMs)
  }
  await until(async () => replicas.every(({ url }) => url), Boolean)
  const last = await clientOf(replicas[0]!.url!)
  for (const id of ids) assert.equal((await last.request('POST', `/core/v1/schedules/${id}/pause`)).status, 200)
  clearInterval(ticking)

  const read = async <Row>(sql: string) => (await database.all.read.execute<Row>(sql, [])).rows
  const fires = await read<FireRow>('select * from schedule_fires order by schedule_id, scheduled_for')
  const bounds = await read<{ id: string; created_at: number; watermark: number }>('select id, created_at, watermark from schedules')
  const runs = await read<{ request_id: string }>("select request_id from runs where operation = 'schedule'")
  for (const { id, created_at: from, watermark } of bounds) {
    const own = fires.filter(({ schedule_id: schedule }) => schedule === id)
    assert.equal(own.at(-1)?.scheduled_for, watermark)
    let expected = Math.floor(from / minute) * minute
    for (const { scheduled_for: at, count } of own) {
      expected += count * minute
      assert.equal(at, expected, `${id} at ${new Date(at).toISOString()}`)
    }
  }
  const started = fires.filter(({ outcome }) => outcome === 'started').map(({ run_id: run }) => String(run))
  assert.deepEqual(runs.map(({ request_id: id }) => id).toSorted(), started.toSorted())
  assert.equal(new Set(started).size, started.length)
  const counts = Map.groupBy(fires, ({ outcome }) => outcome)
  t.diagnostic(`${kills} kills, ${fires.length} fires: ${[...counts].map(([outcome, rows]) => `${rows.length} ${outcome}`).join(', ')}`)
  assert.ok(started.length > schedules, `${started.length} runs; ${errors.join('').slice(0, 2000)}`)
  await until(
    () => read<{ count: number }>("select count(*)::int as count from runs where status in ('pending', 'running')"),
    ([row]) => row!.count === 0,
    120_000,
  )
  const failed = await read("select request_id, status, error from runs where operation = 'schedule' and status <> 'success'")
  assert.deepEqual(failed, [])
})

test('replicas whose clocks are wrong agree, because the time is that of the database', async (t) => {
  const url = await server.createDatabase()
  const environment = { DATABASE_URL: url, SECRET_KEY: 'x'.repeat(32) }
  const a = await startService(t, { script: { text: ['Four.'] }, environment })
  const b = await startService(t, { script: { text: ['Four.'] }, environment })
  const at = new Date(Math.ceil((Date.now() + 2000) / 1000) * 1000).toISOString()
  const body = { at, request: question }
  const now = Date.now
  t.after(() => (Date.now = now))
  const { id } = (await a.client.request('POST', '/core/v1/schedules', { body })).body
  Date.now = () => now() + 3_600_000
  const { fires } = (
    await until(
      () => b.client.request('GET', `/core/v1/schedules/${id}/fires`),
      (reply) => reply.body.fires?.length > 0,
      20_000,
    )
  ).body
  Date.now = now
  assert.deepEqual([fires.length, fires[0].outcome], [1, 'started'])
  const late = Date.parse(fires[0].fired_at) - Date.parse(at)
  assert.ok(late >= 0 && late < 5000, `${late} ms late`)
})
