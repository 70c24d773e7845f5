import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import type { Client } from '../fixtures/service-client.ts'
import { startService, type Who } from '../fixtures/service.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

/** 1 USD for a million tokens of input, and 3 of output: an answer costs 0.0009 USD. */
const modelFields = { prices: { input: 1, output: 3 }, max_output_tokens: 300 }
const limit = { usd: 0.01 }
const nanoOf = ({ input, output }: { input: number; output: number }) => input * 1000 + output * 3000

/** Three replicas on one database, a client of a replica, and a connection to the database. */
async function start(t: TestContext, budgets: object[]) {
  const url = await server.createDatabase()
  const database = new pg.Client(url)
  await database.connect()
  let counted = 0
  const script = ({ body }: ModelServerRequest) => {
    const usage = { input: 2, output: Math.min(300, body.max_tokens) }
    counted += nanoOf(usage)
    return { text: ['Four.'], usage, delayMs: 5 + Math.floor(Math.random() * 30) }
  }
  const environment = { DATABASE_URL: url, SECRET_KEY: 'x'.repeat(32) }
  const replicas = [await startService(t, { script, modelFields, environment, config: { budgets } })]
  for (let more = 0; more < 2; more++) replicas.push(await startService(t, { environment, config: { budgets }, script, modelFields }))
  t.after(() => database.end())
  const { model } = replicas[0]!
  return { database, model, counted: () => counted, clientOf: (who: Who, n: number) => replicas[n % 3]!.as(who) }
}

interface Window {
  spent: number
  committed: number
  limit: number
}

/** Reads the windows again and again until the work is done; no window is ever committed beyond its limit. Resolves to the last windows. */
async function watch(database: pg.Client, work: Promise<unknown>): Promise<{ windows: Window[]; samples: number }> {
  const read = async () => {
    const sql = 'select spent::float as spent, (spent + reserved)::float as committed, usd_limit::float as limit from budget_windows'
    return (await database.query<Window>(sql)).rows
  }
  let isDone = false
  const done = work.finally(() => (isDone = true))
  let samples = 0
  while (!isDone) {
    for (const { committed, limit: most } of await read()) assert.ok(committed <= most, `${committed} of ${most}`)
    samples++
    await sleep(1)
  }
  await done
  return { windows: await read(), samples }
}

const callers: Record<string, (n: number) => Who> = {
  caller: () => ({ sub: 'ann' }),
  tenant: (n) => ({ sub: `caller-${n}` }),
  service: (n) => ({ sub: `caller-${n}`, tenant: `tenant-${n % 4}` }),
}

for (const [scope, callerOf] of Object.entries(callers))
  test(`50 chats at once on three replicas spend no more than the limit of their ${scope}`, async (t) => {
    const { database, model, counted, clientOf } = await start(t, [{ name: 'day', scope, window: 'day', limit }])
    const askers: Client[] = []
    // One after the other: each key is read from the database by a connection of its own.
    for (let n = 0; n < 50; n++) askers.push(await clientOf(callerOf(n), n))
    const replies = Promise.all(askers.map((client) => client.chat('2 + 2?')))
    const { windows, samples } = await watch(database, replies)
    const statuses = (await replies).map(({ status }) => status)
    const answered = statuses.filter((status) => status === 200).length
    assert.deepEqual(new Set(statuses), new Set([200, 429]))
    assert.equal(model.requests.length, answered)
    assert.ok(model.requests.every(({ body }) => body.max_tokens <= 300))
    assert.ok(answered > 0 && counted() <= limit.usd * 1e9, `${answered} answers for ${counted()}`)
    assert.deepEqual(windows, [{ spent: counted(), committed: counted(), limit: limit.usd * 1e9 }])
    const { rows } = await database.query(
      "select 1 from budget_reservations union all select 1 from runs where status in ('pending', 'running')",
    )
    assert.equal(rows.length, 0)
    t.diagnostic(`${answered} answers for ${counted() / 1e9} USD, ${50 - answered} refusals, ${samples} samples`)
  })

const median = (times: readonly number[]) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]!

/** Milliseconds of a chat. */
async function timeOf(client: Client): Promise<number> {
  const begun = performance.now()
  assert.equal((await client.chat('2 + 2?')).status, 200)
  return performance.now() - begun
}

test('a tenant whose budget is used up does not slow the chats of another tenant', async (t) => {
  const daily = { scope: 'tenant', window: 'day' }
  const acmes = { ...daily, name: 'acme', limit: { usd: 0.001 }, match: { tenants: ['acme'] } }
  const { clientOf, model } = await start(t, [acmes, { ...daily, name: 'all', limit: { usd: 1000 } }])
  const acme = await clientOf({ tenant: 'acme' }, 0)
  const beta = await clientOf({ tenant: 'beta' }, 1)
  await timeOf(acme)
  await timeOf(beta)
  const alone: number[] = []
  const beside: number[] = []
  // In turns, because the machine is busier at times.
  for (let round = 0; round < 40; round++) {
    alone.push(await timeOf(beta))
    const refusal = acme.chat('2 + 2?')
    beside.push(await timeOf(beta))
    assert.equal((await refusal).status, 429)
  }
  assert.equal(model.requests.length, 82)
  // A wait for acme would last as long as its calls.
  assert.ok(median(beside) < median(alone) * 2 + 20, `${median(alone)} ms alone, ${median(beside)} ms beside refusals`)
  t.diagnostic(`median ${median(alone).toFixed(1)} ms alone, ${median(beside).toFixed(1)} ms beside refusals`)
})

test('a replica that repeats or follows a run of another one says what is left', async (t) => {
  const { clientOf } = await start(t, [{ name: 'day', scope: 'caller', window: 'day', limit }])
  const [first, other] = [await clientOf({ sub: 'ann' }, 0), await clientOf({ sub: 'ann' }, 1)]
  const { headers } = await first.chat('2 + 2?', { 'request-id': 'r1' })
  assert.equal(headers.get('x-budget-remaining'), 'usd=0.009098')
  assert.equal((await other.chat('2 + 2?', { 'request-id': 'r1' })).headers.get('x-budget-remaining'), 'usd=0.009098')
})
