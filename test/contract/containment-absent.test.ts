import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { decide, sendTo, sending } from '../fixtures/approvals.ts'
import type { ModelAnswer, ModelServerRequest } from '../fixtures/model-server.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

/** What agents without containment ask of models, and what they store. */

const script = ({ body }: ModelServerRequest): ModelAnswer => {
  const system = String(body.messages[0].content)
  if (system.startsWith('You keep the lessons')) return { text: '[{"content": "flaky wants numbers."}]' }
  if (system.startsWith('You keep')) return { text: '[]' }
  const { role, content } = body.messages.at(-1)
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  if (role === 'tool') return text.includes('Try again') ? callOf('flaky', { n: 2 }) : { text: `Seen: ${text.slice(0, 80)}` }
  if (text.includes('look')) return { text: 'I look.', calls: [...callOf('look').calls, ...callOf('look', { n: 1 }).calls] }
  if (text.includes('send')) return sendTo('A', 'B')
  if (text.includes('flaky')) return callOf('flaky', { n: 1 })
  if (text.includes('place')) return callOf('place')
  if (text.includes('helper')) return callOf('sub_agent_helper', { task: 'Please look.' })
  return { text: 'Hello.' }
}

const tables = ['sessions', 'messages', 'runs', 'approvals', 'memories']

function rowsOf(dataDir: string, names: readonly string[]) {
  const database = new DatabaseSync(`${dataDir}/agent-core.db`, { readOnly: true })
  const existing = new Set(
    database
      .prepare(`select name from sqlite_master where type = 'table'`)
      .all()
      .map(({ name }) => String(name)),
  )
  const rows = Object.fromEntries(
    names.filter((name) => existing.has(name)).map((name) => [name, database.prepare(`select * from ${name} order by rowid`).all()]),
  )
  database.close()
  return rows
}

/** What the models were asked, and the rows of the database, also those of a run that waits. */
async function record(t: TestContext, config: Record<string, unknown> = {}) {
  const { sent, tool } = sending()
  const look = fakeTool('look', async (input) => ({ seen: input }))
  const flaky = fakeTool('flaky', async ({ n }) => (n === 1 ? Promise.reject(new Error('Try again.')) : 'fine'))
  const { client, model, settings } = await startService(t, { script, tools: [look, flaky, tool], config })
  const draft = { name: 'helper', description: 'Helps.', objective: 'Help.', tools: ['look'] }
  assert.equal((await client.request('POST', '/core/v1/chain/sub_agents', { body: draft })).status, 200)
  const ids = (id: string, session = 's1') => ({ 'request-id': id, 'session-id': session })
  await client.chat('Hello.', ids('r1'))
  await client.chat('Please look.', ids('r2'))
  await client.chat('And?', ids('r3'))
  const waiting = await client.chat('Please send.', ids('r4'))
  const held = rowsOf(settings.dataDir, ['run_steps', 'approvals'])
  const [first, second] = waiting.body.approval_required.calls
  await decide(client, 'r4', first.tool_call_id)
  await decide(client, 'r4', second.tool_call_id, { decision: 'reject', reason: 'No' })
  await client.chat('Please send.', ids('r4'))
  await client.chat('Ask the helper.', ids('r5'))
  const place = { name: 'place', description: 'The place.', schema: { type: 'object', properties: {} } }
  const body = { messages: [{ role: 'user', content: 'Which place?' }], client_tools: [place] }
  const asked = await client.chat(body, ids('r6'))
  await decide(client, 'r6', asked.body.client_tool_calls.calls[0].tool_call_id, { decision: 'output', output: 'Basel' })
  await client.chat(body, ids('r6'))
  const learning = { messages: [{ role: 'user', content: 'Use flaky.' }], auto_memory_retain: true }
  await client.chat(learning, ids('r7', 's2'))
  await until(
    () => client.request('GET', '/core/v1/memories'),
    (reply) => reply.body.count > 0,
  )
  await client.chat('What does flaky want? Do not use it: flaky.', ids('r8', 's3'))
  await client.chat(
    {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Hi.' },
        { role: 'user', content: 'Please look.' },
      ],
    },
    ids('r9', 's4'),
  )
  assert.deepEqual(sent, [{ to: 'A' }])
  const rows = {
    ...rowsOf(settings.dataDir, tables),
    ...Object.fromEntries(Object.entries(held).map(([name, list]) => [`${name} held`, list])),
  }
  return { requests: model.requests.map((request): unknown => request.body), rows }
}

/** Fields of containment alone, and random values. */
const fieldsOfContainment = new Set(['taint', 'held', 'containment', 'salt'])

/** JSON without numbers, times, ids and addresses, which differ from run to run, and without the fields of containment. */
function plain(value: unknown): string {
  return JSON.stringify(value, (key, entry: unknown) => {
    if (fieldsOfContainment.has(key)) return undefined
    if (typeof entry === 'number') return 0
    return typeof entry === 'string' && /^[[{]/.test(entry) ? JSON.parse(plain(JSON.parse(entry))) : entry
  })
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, 'id')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')
}

test('Containment: where it is absent, nothing of it is stored, and models are asked the same as with it', async (t) => {
  const [absent, present] = [await record(t), await record(t, { containment: {} })]
  assert.doesNotMatch(JSON.stringify(absent.rows), /\\"(taint|held|containment)\\":|untrusted_content/)
  assert.ok(absent.rows['approvals']!.every(({ sources }) => sources === null))
  assert.match(JSON.stringify(present.rows), /\\"taint\\"/)
  assert.ok(absent.requests.length > 15)
  assert.deepEqual(absent.requests.map(plain), present.requests.map(plain))
  for (const [table, rows] of Object.entries(absent.rows)) {
    assert.deepEqual(rows.map(plain), present.rows[table]!.map(plain), table)
  }
})
