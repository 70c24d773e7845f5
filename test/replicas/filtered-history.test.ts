import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import type { ModelScript } from '../fixtures/model-server.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { startService } from '../fixtures/service.ts'

let server: PostgresServer
before(async () => void (server = await startPostgres()))
after(() => server.stop())

const files = { 'data/sales.csv': 'region,year,amount\nNorth,2025,10\nNorth,2024,30\nSouth,2025,20\nWest,2024,99\n' }
const tools = [{ name: 'sales', type: 'data_query', config: { tables: { sales: 'data/sales.csv' } } }]
const hint = (filter_key: string, filter_value: string) => ({ tool_name: 'sales', filter_key, filter_type: 'equals', filter_value })
const north = hint('region', 'North')

/** Reads all rows and answers with them. */
const script: ModelScript = ({ body }) => {
  const last = body.messages.at(-1)
  if (last.role === 'tool') return { text: `told: ${last.content}` }
  if (last.content.includes('rows')) return { calls: [{ name: 'sales', arguments: JSON.stringify({ sql: 'SELECT * FROM sales' }) }] }
  return { text: 'fine' }
}

async function setUp(t: TestContext, isShared: boolean, memory: object = {}) {
  const environment: Record<string, string> = isShared ? { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) } : {}
  const { client, model } = await startService(t, { script, files, config: { tools, memory }, environment })
  const chat = async (content: string, hints: object[] = [], session = 's') => {
    const body = { messages: [{ role: 'user', content }], ...(hints.length > 0 ? { data_filter_hints: hints } : {}) }
    assert.equal((await client.chat(body, { 'session-id': session })).status, 200)
    // Messages sent to the model, without the tool descriptions.
    return JSON.stringify(model.requests.at(-1)!.body.messages)
  }
  return { client, chat }
}

for (const [name, isShared] of [
  ['SQLite', false],
  ['Postgres', true],
] as const) {
  test(`Hints: answers and results of runs with wider access are hidden, but the caller's own messages are shown, on ${name}`, async (t) => {
    const { client, chat } = await setUp(t, isShared)
    await chat('all rows of red apples')
    const filtered = await chat('What do you see?', [north])
    assert.doesNotMatch(filtered, /South|West/)
    assert.match(filtered, /rows of red apples.*not shown.*What do you see/)

    await chat('rows of the North', [north])
    const same = await chat('And now?', [north])
    assert.match(same, /"told: [^"]*.*North/)
    assert.doesNotMatch(same, /South|West/)
    // Two hints allow less than North alone: data read under North is hidden, while data read under both hints is allowed for North.
    const year = hint('year', '2025')
    assert.doesNotMatch(await chat('And 2025?', [year, north]), /told/)
    await chat('rows of 2025', [north, year])
    assert.match(await chat('And in all?', [north]), /2025.*told/)
    // Without hints, the model gets all messages.
    assert.match(await chat('And everywhere?'), /South.*West/)

    const fork = await client.request('POST', '/core/v1/sessions/s/fork', { body: { message_index: 2 } })
    assert.equal(fork.status, 200)
    const shown = await chat('What do you see here?', [north], fork.body.session_id)
    assert.match(shown, /red apples.*not shown/)
    assert.doesNotMatch(shown, /South|West/)
  })
}

test('Hints: turns supplied by a caller are shown', async (t) => {
  const { client, chat } = await setUp(t, false)
  const messages = [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'South has 20.' },
    { role: 'user', content: 'Thanks' },
  ]
  await client.chat({ messages }, { 'session-id': 's' })
  assert.match(await chat('And?', [north]), /South has 20/)
})

test('Hints: a summary of turns with wider access is hidden', async (t) => {
  const { chat } = await setUp(t, false, { history_tokens: 1000 })
  const isSummarised = (shown: string) => /Earlier in this conversation.*West/.test(shown)
  let shown = ''
  for (let turn = 0; turn < 60 && !isSummarised(shown); turn++) shown = await chat(`rows, West and all, time ${turn}`)
  assert.ok(isSummarised(shown))
  const filtered = await chat('What do you see?', [north])
  assert.doesNotMatch(filtered, /Earlier in this conversation|South/)
})
