import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import { hashOf } from '../../src/audit/event.ts'
import { runIn } from '../../src/cli/terminal-fixture.ts'
import { canonicalJson } from '../../src/json/canonical.ts'
import { openDatabase } from '../../src/store/open.ts'
import { until } from '../fixtures/async-client.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { makeFolder } from '../fixtures/process.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const databases = [
  { name: 'SQLite', environmentOf: async (): Promise<Record<string, string>> => ({}) },
  { name: 'Postgres', environmentOf: async () => ({ DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }) },
]

/** What somebody who knows the form of the input tries. */
const dictionary = Array.from({ length: 10_000 }, (_, amount) => ({ amount, reason: 'broken kettle' }))
const input = dictionary[4711]!
const words = ['kettle', '4711', 'Bobby', 'refunded']

interface ExportedEvent {
  id: string
  action: string
  request_id: string | null
  data: { input_hash?: string } | null
}

for (const { name, environmentOf } of databases)
  test(`Audit, ${name}: a deleted session leaves the ledger whole, and nothing of the session`, async (t) => {
    const environment = await environmentOf()
    const refund = fakeTool('refund', async () => 'refunded', { effect: 'write' })
    const script = { calls: callOf('refund', input).calls }
    const service = await startService(t, {
      script: ({ body }) => (body.messages.at(-1).role === 'tool' ? { text: 'Bobby has the money.' } : script),
      tools: [refund],
      environment,
    })
    const database = await openDatabase(service.settings)
    t.after(() => database.close())
    const auditor = await service.as({ sub: 'olga', roles: ['auditor'] })
    const hashes = async () => {
      const { text } = await auditor.request('GET', '/core/v1/audit/export')
      const events = text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as ExportedEvent)
      return { text, events: events.filter(({ data }) => data?.input_hash !== undefined) }
    }
    const salts = async () => {
      const { rows } = await database.all.read.execute<{ id: string; salt: string | null }>('select id, salt from audit_events', [])
      return new Map(rows.map(({ id, salt }) => [id, salt]))
    }
    const ids = { 'session-id': 's1', 'request-id': 'r1' }
    assert.equal((await service.client.chat('Refund Bobby for the kettle', ids)).status, 200)

    const before = await hashes()
    const [started] = before.events
    const salt = (await salts()).get(started!.id)!
    assert.deepEqual(
      dictionary.filter((tried) => hashOf(tried, salt) === started!.data!.input_hash),
      [input],
    )

    assert.equal((await service.client.request('DELETE', '/core/v1/sessions/s1')).status, 200)
    const { text, events } = await hashes()
    assert.equal(events.length, before.events.length)
    // A hash or a signature may have the same characters.
    for (const word of words) assert.doesNotMatch(text, new RegExp(`(?<![\\w-])${word}(?![\\w-])`))
    const known = await until(salts, (map) => events.every(({ id }) => map.get(id) === null))
    assert.deepEqual(
      events.map(({ id }) => known.get(id)),
      events.map(() => null),
    )
    const texts = [
      '',
      'default',
      ...events.flatMap(({ id, request_id: request }) => [id, request ?? '']),
      ...[...known.values()].filter((value) => value !== null),
    ]
    const keys = texts.flatMap((text) => [text, Buffer.from(text, 'hex')])
    const found = new Set(events.map(({ data }) => data!.input_hash))
    for (const tried of dictionary) {
      const json = canonicalJson(tried)
      assert.ok(!found.has(createHash('sha256').update(json).digest('hex')))
      for (const key of keys) assert.ok(!found.has(createHmac('sha256', key).update(json).digest('hex')))
    }
    const folder = await makeFolder(t)
    const verified = await runIn(folder, ['audit', 'verify'], { DATA_DIR: service.settings.dataDir, ...environment })
    assert.equal(verified.code, 0, verified.err)
    assert.match(verified.out, /^default: seq 1 to \d+ verified; signed to the end\.\n/)
  })
