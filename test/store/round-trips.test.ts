import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { meterWire, type WireCount, type WireMeter } from '../../bench/wire-meter.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { startService } from '../fixtures/service.ts'
import type { Client } from '../fixtures/service-client.ts'

let server: PostgresServer
let meter: WireMeter
before(async () => {
  server = await startPostgres()
  meter = await meterWire(await server.createDatabase())
})
after(async () => {
  meter.close()
  await server.stop()
})

const samples = 12

/** What one of these costs, as the cheaper of some do: heartbeats and sweeps go over the wire too, on a slow machine with most of them. */
async function costOf(ask: (n: number) => Promise<unknown>, wire = meter): Promise<WireCount> {
  const costs: WireCount[] = []
  for (let n = -2; n < samples; n++) {
    await ask(n)
    // What a chat does behind its answer belongs to it.
    await sleep(behindMs)
    const cost = wire.count()
    // The first ones prepare their statements, and learn what is remembered.
    if (n >= 0) costs.push(cost)
  }
  const low = (of: keyof WireCount) => costs.map((cost) => cost[of]).toSorted((a, b) => a - b)[samples / 4]!
  return { roundTrips: low('roundTrips'), statements: low('statements') }
}

const behindMs = 20

const script = ({ body }: ModelServerRequest) => {
  const { role, content } = body.messages.at(-1)
  return role === 'user' && content === 'time'
    ? { calls: [{ name: 'current_time', arguments: '{}' }] }
    : { text: 'an answer', usage: { input: 10, output: 5 } }
}

test('round trips to Postgres: the maximum per chat', async (t) => {
  const environment = { DATABASE_URL: meter.url, SECRET_KEY: 'x'.repeat(32) }
  const config = { tools: [{ name: 'current_time' }] }
  const { client } = await startService(t, { script, config, environment })
  const chat = async (text: string, headers: Record<string, string>, more: object = {}) => {
    const { status } = await client.chat({ messages: [{ role: 'user', content: text }], ...more }, headers)
    assert.equal(status, 200)
  }
  const costs = {
    first: await costOf((n) => chat('hi', { 'session-id': `first-${n}` })),
    streamed: await costOf((n) => stream(client, { 'session-id': `stream-${n}` })),
    // Reads what was said before.
    later: await costOf(() => chat('hi', { 'session-id': 'later' })),
    // Keeps a step in between.
    withTool: await costOf((n) => chat('time', { 'session-id': `tool-${n}` })),
  }
  const most: Record<keyof typeof costs, WireCount> = {
    first: { roundTrips: 2, statements: 2 },
    streamed: { roundTrips: 2, statements: 2 },
    later: { roundTrips: 3, statements: 3 },
    withTool: { roundTrips: 4, statements: 5 },
  }
  for (const name of ['first', 'streamed', 'later', 'withTool'] as const) {
    const { roundTrips, statements } = costs[name]
    const isWithin = roundTrips <= most[name].roundTrips && statements <= most[name].statements
    assert.ok(isWithin, `${name}: ${roundTrips} round trips, ${statements} statements`)
    assert.ok(statements >= 2, 'the meter sees them')
  }
  // The job is counted in that takes what is to be remembered.
  const retained = await costOf((n) => chat('hi', { 'session-id': `retained-${n}` }, { auto_memory_retain: true }))
  assert.ok(retained.roundTrips <= 14, `${retained.roundTrips} with a job`)
})

async function stream(client: Client, headers: Record<string, string>): Promise<void> {
  await (await client.stream('hi', headers)).rest()
}

test('round trips to Postgres: a budget costs a statement for each model call, and none at the end', async (t) => {
  const database = await server.createDatabase()
  const wire = await meterWire(database)
  t.after(() => wire.close())
  const environment = { DATABASE_URL: wire.url, SECRET_KEY: 'x'.repeat(32) }
  const budgets = [
    { name: 'callers', scope: 'caller', window: 'day', limit: { usd: 1000 } },
    { name: 'tenants', scope: 'tenant', window: 'month', limit: { tokens: 1_000_000_000 } },
  ]
  const { client, model } = await startService(t, {
    script,
    modelFields: { prices: { input: 1, output: 3 } },
    config: { budgets },
    environment,
  })
  const chat = async (sessionId: string) => {
    const { status } = await client.chat({ messages: [{ role: 'user', content: 'hi' }] }, { 'session-id': sessionId })
    assert.equal(status, 200)
  }
  const { roundTrips, statements } = await costOf((n) => chat(`first-${n}`), wire)
  assert.ok(roundTrips <= 3 && statements <= 3, `${roundTrips} round trips, ${statements} statements`)
  // Chats that end at the same time share a statement.
  await Promise.all(Array.from({ length: 16 }, (_, n) => chat(`together-${n}`)))
  const pool = new pg.Pool({ connectionString: database, max: 1, allowExitOnIdle: true })
  const { rows } = await pool.query(
    `select budget, spent::int, tokens_spent::int, reserved::int, tokens_reserved::int, (select count(*)::int from budget_reservations) as left
      from budget_windows order by budget`,
  )
  await pool.end()
  const tokens = 15 * model.requests.length
  const spent = model.requests.length * 25_000
  const sums = { spent, tokens_spent: tokens, reserved: 0, tokens_reserved: 0, left: 0 }
  assert.deepEqual(rows, [
    { budget: 'callers', ...sums },
    { budget: 'tenants', ...sums },
  ])
})
