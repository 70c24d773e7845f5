import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const path = '/core/v1/datasets'
const unknownId = '0199f3c2-7c1e-7d51-b0ab-3f6f1d0c8a11'
const scorers = [
  { name: 'writes', kind: 'effects' },
  { name: 'shape', kind: 'schema', schema: { type: 'object' }, threshold: 0.5, required: false },
]
const input = { messages: [{ role: 'human', content: 'How much was sold?' }] }
const isNotFound = (status: number) => assert.equal(status, 404)

/** A service whose administrator has a dataset, and a run that has refunded an order. */
async function start(t: TestContext) {
  const script = [callOf('refund', { order: 9 }), { text: 'Refunded.' }]
  const tools = [fakeTool('refund', async () => ({ refunded: 9 }), { effect: 'write' })]
  const service = await startService(t, { script, tools, config: { evals: { max_datasets: 2, max_examples: 3 } } })
  const client = await service.as({ roles: ['admin'] })
  const send = (method: string, at: string, body?: object) => client.request(method, `${path}${at}`, body && { body })
  const { body } = await send('POST', '', { name: 'core', description: 'What must not break' })
  const ids = { 'request-id': 'r1', 'session-id': 's1' }
  await client.chat('Refund order 9', ids)
  return { ...service, client, send, dataset: body, at: `/${body.id}` }
}

test('Datasets: a dataset is created, listed, found by its name, changed and deleted', async (t) => {
  const { send, dataset, at } = await start(t)
  const { created_at, updated_at, ...shown } = dataset
  assert.equal(created_at, updated_at)
  assert.deepEqual(shown, { id: dataset.id, name: 'core', description: 'What must not break', revision: 0, examples: 0, scorers: [] })
  assert.deepEqual((await send('GET', '/core')).body, dataset)
  const taken = await send('POST', '', { name: 'core' })
  assert.deepEqual([taken.status, taken.body.details.error_type], [409, 'DatasetExists'])
  assert.equal((await send('POST', '', { name: 'other' })).status, 201)
  const full = await send('POST', '', { name: 'third' })
  assert.deepEqual([full.status, full.body.details.error_type], [409, 'DatasetLimit'])
  assert.equal((await send('PATCH', '/other', { name: 'core' })).status, 409)
  assert.equal((await send('PATCH', at, { name: 'refunds' })).body.name, 'refunds')
  const page = (await send('GET', '?limit=1')).body
  assert.deepEqual([page.datasets[0].name, page.has_more], ['other', true])
  assert.equal((await send('GET', `?limit=1&before=${page.offset}`)).body.datasets[0].name, 'refunds')
  assert.equal((await send('DELETE', at)).status, 204)
  isNotFound((await send('GET', at)).status)
})

test('Datasets: an example of a run has its question, calls and replies, and outlives the run but not the session', async (t) => {
  const { client, send, at } = await start(t)
  const added = await send('POST', `${at}/examples`, {
    from_run: { request_id: 'r1' },
    tags: ['refunds'],
    expected: { output: 'Refunded.' },
  })
  assert.equal(added.status, 201, added.text)
  const { name, input: asked, recording, model_replies: replies, source, reduced, expected } = added.body
  assert.deepEqual([name, asked.messages, reduced], ['Refund order 9', [{ role: 'user', content: 'Refund order 9' }], false])
  const [{ tool, tool_input, output, status, effect }] = recording
  assert.deepEqual([tool, tool_input, output, status, effect], ['refund', { order: 9 }, { refunded: 9 }, 'success', 'write'])
  assert.deepEqual(
    replies.map(({ text }: { text: string }) => text),
    ['', 'Refunded.'],
  )
  assert.deepEqual([source.request_id, source.issuer, source.sub, expected], ['r1', 'agent-core', 'ann', { output: 'Refunded.' }])
  const { examples } = (await send('GET', `${at}/examples`)).body
  assert.deepEqual([examples[0].question, examples[0].calls, examples[0].writes, examples[0].tags], ['Refund order 9', 1, 1, ['refunds']])
  await client.request('DELETE', '/core/v1/sessions/s1')
  assert.deepEqual((await send('GET', `${at}/examples`)).body.examples, [])
  const gone = await send('POST', `${at}/examples`, { from_run: { request_id: 'r1' } })
  assert.deepEqual([gone.status, gone.body.details.error_type], [410, 'Gone'])
})

test('Datasets: an example by hand is changed in a new revision, and a detached one stays without its session', async (t) => {
  const { client, send, at } = await start(t)
  const { body: run } = await send('POST', `${at}/examples`, { from_run: { request_id: 'r1' } })
  const recording = [{ tool: 'sales', tool_input: {}, output: 7, status: 'success', effect: 'read' }]
  const { body: hand } = await send('POST', `${at}/examples`, { input, recording })
  assert.deepEqual([hand.name, hand.revision, hand.source], ['How much was sold?', 2, null])
  assert.deepEqual(hand.input.messages, [{ role: 'user', content: 'How much was sold?' }])
  const changed = await send('PATCH', `${at}/examples/${hand.id}`, { tags: ['a'], expected: { output: '7' } })
  assert.deepEqual([changed.body.revision, changed.body.tags, changed.body.recording], [3, ['a'], hand.recording])
  assert.equal((await send('PATCH', `${at}/examples/${run.id}`, { source: null })).body.source, null)
  await client.request('DELETE', '/core/v1/sessions/s1')
  const idsIn = async (query: string) => (await send('GET', `${at}/examples${query}`)).body.examples.map(({ id }: { id: string }) => id)
  assert.deepEqual(await idsIn(''), [hand.id, run.id])
  assert.equal((await send('DELETE', `${at}/examples/${hand.id}`)).status, 204)
  assert.deepEqual(await idsIn(''), [run.id])
  assert.deepEqual(await idsIn('?revision=4'), [hand.id, run.id])
  isNotFound((await send('DELETE', `${at}/examples/${hand.id}`)).status)
})

test('Datasets: bad input names its field and changes nothing', async (t) => {
  const { send, at } = await start(t)
  const faults: [object, (string | number)[]][] = [
    [{}, ['body', 'input']],
    [{ input: { messages: [] } }, ['body', 'input', 'messages']],
    [{ input: { messages: [{ role: 'ai', content: 'x' }] } }, ['body', 'input', 'messages', 0, 'role']],
    [{ input, recording: [{ tool: 'x' }] }, ['body', 'recording', 0, 'tool_input']],
    [{ input, more: 1 }, ['body', 'more']],
    [{ from_run: { request_id: 'r1' }, recording: [] }, ['body', 'recording']],
  ]
  for (const [body, loc] of faults) {
    const reply = await send('POST', `${at}/examples`, body)
    assert.deepEqual([reply.status, reply.body.detail?.[0].loc], [422, loc], reply.text)
  }
  isNotFound((await send('POST', `${at}/examples`, { from_run: { request_id: 'unknown' } })).status)
  const large = { input, recording: [{ tool: 'x', tool_input: {}, output: 'x'.repeat(4.2e6), status: 'success', effect: 'read' }] }
  assert.equal((await send('POST', `${at}/examples`, large)).status, 413)
  assert.equal((await send('GET', at)).body.revision, 0)
  const { body: example } = await send('POST', `${at}/examples`, { input })
  assert.equal((await send('PATCH', `${at}/examples/${example.id}`, { recording: large.recording })).status, 413)
  for (let n = 0; n < 2; n++) await send('POST', `${at}/examples`, { input })
  const full = await send('POST', `${at}/examples`, { input })
  assert.deepEqual([full.status, full.body.details.error_type], [409, 'DatasetLimit'])
})

test('Datasets: scorers are kept, and changed scorers make a new revision', async (t) => {
  const { send, at } = await start(t)
  const created = await send('POST', '', { name: 'other', scorers })
  assert.deepEqual([created.status, created.body.scorers, created.body.revision], [201, scorers, 0])
  const changed = await send('PATCH', at, { scorers: scorers.slice(0, 1) })
  assert.deepEqual([changed.status, changed.body.scorers, changed.body.revision], [200, scorers.slice(0, 1), 1])
  assert.deepEqual((await send('PATCH', at, { description: 'x' })).body.scorers, scorers.slice(0, 1))
  assert.deepEqual((await send('GET', at)).body.revision, 1)
})

test('Datasets: the fault of a scorer has its place, and changes nothing', async (t) => {
  const { send, at, dataset } = await start(t)
  const named = { name: 'a' }
  const faults: [unknown[], (string | number)[]][] = [
    [[{ ...named }], [0, 'kind']],
    [[{ ...named, kind: 'other' }], [0, 'kind']],
    [[{ kind: 'effects' }], [0, 'name']],
    [[{ ...named, kind: 'effects', name: '' }], [0, 'name']],
    [[{ ...named, kind: 'effects', pattern: 'x' }], [0, 'pattern']],
    [[{ ...named, kind: 'effects', threshold: 2 }], [0, 'threshold']],
    [
      [
        { ...named, kind: 'effects' },
        { ...named, kind: 'max_steps', steps: 1 },
      ],
      [1, 'name'],
    ],
    [[{ ...named, kind: 'regex' }], [0, 'pattern']],
    [[{ ...named, kind: 'regex', pattern: '(a)\\1' }], [0, 'pattern']],
    [[{ ...named, kind: 'regex', pattern: 'x'.repeat(1001) }], [0, 'pattern']],
    [[{ ...named, kind: 'json_path', path: 'items' }], [0, 'path']],
    [[{ ...named, kind: 'schema', schema: { properties: { a: { type: 5 } } } }], [0, 'schema', 'properties', 'a', 'type']],
    [[{ ...named, kind: 'trajectory', inputs: 'some' }], [0, 'inputs']],
    [[{ ...named, kind: 'max_cost', usd: -1 }], [0, 'usd']],
    [[{ ...named, kind: 'judge', model: 'small', rubric: 'x'.repeat(20_001) }], [0, 'rubric']],
    [Array.from({ length: 21 }, (_, n) => ({ name: `s${n}`, kind: 'effects' })), []],
    [Array.from({ length: 20 }, (_, n) => ({ name: `s${n}`, kind: 'exact', expected: 'x'.repeat(14_000) })), []],
  ]
  for (const [faulty, place] of faults)
    for (const [method, path] of [
      ['POST', ''],
      ['PATCH', at],
    ] as const) {
      const reply = await send(method, path, { name: 'other', scorers: faulty })
      assert.deepEqual([reply.status, reply.body.detail?.[0].loc], [422, ['body', 'scorers', ...place]], reply.text)
    }
  assert.deepEqual((await send('GET', '')).body.datasets, [dataset])
})

test('Datasets: a tenant and a key without evals.write reach nothing', async (t) => {
  const { as, send, at, dataset } = await start(t)
  const { body: example } = await send('POST', `${at}/examples`, { input })
  const other = await as({ tenant: 'beta', roles: ['admin'] })
  const operator = await as({ roles: ['operator'] })
  const requests: [string, string, object?][] = [
    ['GET', at],
    ['GET', '/core'],
    ['PATCH', at, { description: 'x' }],
    ['DELETE', at],
    ['GET', `${at}/examples`],
    ['POST', `${at}/examples`, { input }],
    ['GET', `${at}/examples/${example.id}`],
    ['PATCH', `${at}/examples/${example.id}`, { tags: [] }],
    ['DELETE', `${at}/examples/${example.id}`],
  ]
  for (const [method, place, body] of requests) {
    isNotFound((await other.request(method, path + place, body && { body })).status)
    const expected = method === 'GET' ? 200 : 403
    assert.equal((await operator.request(method, path + place, body && { body })).status, expected, `${method} ${place}`)
  }
  assert.deepEqual((await other.request('GET', path)).body.datasets, [])
  isNotFound((await send('GET', `/${unknownId}`)).status)
  assert.deepEqual((await send('GET', at)).body, { ...dataset, revision: 1, examples: 1, updated_at: example.created_at })
})
