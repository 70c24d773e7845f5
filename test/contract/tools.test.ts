import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService, type ServiceOptions } from '../fixtures/service.ts'
import type { Client } from '../fixtures/service-client.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const files = {
  'data/sales.csv': 'region,amount\nNorth,10\nSouth,20\nNorth,30\n',
  'docs/public.md': '---\ndepartment: People\n---\n# Leave\nEverybody has thirty days of leave.\n',
  'docs/secret.md': '---\ndepartment: Board\n---\n# Leave\nThe board has ninety days of leave.\n',
}

const tools = [
  { name: 'calculator' },
  { name: 'read_file' },
  { name: 'list_files' },
  { name: 'sales', type: 'data_query', config: { tables: { sales: 'data/sales.csv' } } },
  { name: 'docs', type: 'knowledge_search', config: { paths: ['docs/**'] } },
]

const withFiles: ServiceOptions = { files, config: { tools } }
const hint = (tool_name: string, filter_key: string, filter_value: string) => ({
  tool_name,
  filter_key,
  filter_type: 'equals',
  filter_value,
})

function execute(client: Client, tool_name: string, tool_input: object, more: object = {}) {
  return client.request('POST', '/core/v1/tool/execute', { body: { tool_name, tool_input, ...more } })
}

test('Tools: the list has name, description, status, marks and schema of each tool', async (t) => {
  const { client } = await startService(t, withFiles)
  const { status, body } = await client.request('GET', '/core/v1/tools')
  assert.deepEqual({ status, count: body.count }, { status: 200, count: 5 })
  assert.deepEqual(
    body.tools.map((tool: { name: string }) => tool.name),
    tools.map((tool) => tool.name),
  )
  for (const tool of body.tools) {
    assert.deepEqual(Object.keys(tool), ['name', 'description', 'status', 'effect', 'trust', 'private', 'outbound', 'schema'])
    assert.deepEqual([tool.status, tool.schema.type, typeof tool.schema.properties], ['ready', 'object', 'object'])
    assert.notEqual(tool.description, '')
  }
})

test('Tools: a caller without tools.execute sees no data in descriptions', async (t) => {
  const broken = { name: 'broken', type: 'data_query', config: { tables: { gone: 'data/gone.csv' } } }
  const { client, as } = await startService(t, { ...withFiles, config: { tools: [...tools, broken] } })
  const listed = async (who: Client) => (await who.request('GET', '/core/v1/tools')).body.tools as { name: string; description: string }[]
  assert.match(JSON.stringify(await listed(client)), /North.*gone\.csv/)
  const others = await listed(await as({ roles: ['viewer'] }))
  assert.equal(others.length, 6)
  for (const { name, description } of others) if (name !== 'broken') assert.notEqual(description, '')
  assert.doesNotMatch(JSON.stringify(others), /North|South|Leave|gone\.csv/)
})

test('Tools: a tool that cannot be created has status error and its reason, and the others work', async (t) => {
  const broken = { name: 'broken', type: 'data_query', config: { tables: { gone: 'data/gone.csv' } } }
  const { client } = await startService(t, { config: { tools: [broken, { name: 'calculator' }] }, script: {} })
  const { body } = await client.request('GET', '/core/v1/tools')
  assert.deepEqual([body.tools[0].status, body.tools[1].status], ['error', 'ready'])
  assert.match(body.tools[0].description, /gone\.csv/)
  const refused = await execute(client, 'broken', { sql: 'select 1' })
  assert.deepEqual({ status: refused.status, details: refused.body.details }, { status: 503, details: { error_type: 'ToolNotReady' } })
  assert.equal((await execute(client, 'calculator', { expression: '1+1' })).body.status, 'success')
  assert.equal((await client.chat('hello')).status, 200)
})

test('Tools: a direct execution answers with output, seconds and status', async (t) => {
  const { client } = await startService(t, withFiles)
  const { status, headers, body } = await execute(client, 'calculator', { expression: '17% * 2340' })
  assert.equal(status, 200)
  assert.deepEqual(Object.keys(body).sort(), ['execution_time', 'output', 'status', 'tool_name'])
  assert.deepEqual({ tool_name: body.tool_name, status: body.status }, { tool_name: 'calculator', status: 'success' })
  assert.match(JSON.stringify(body.output), /397\.8/)
  assert.equal(typeof body.execution_time, 'number')
  assert.ok(headers.get('session-id') && headers.get('request-id'))
})

test('Tools: the output of a direct execution is always an object, also in a repeat', async (t) => {
  const given = ['text', 7, true, null, ['a', 'b'], { a: 1 }]
  const tools = given.map((value, n) => fakeTool(`gives${n}`, async () => value, { effect: 'read' }))
  const { client } = await startService(t, { tools, script: {} })
  for (const [n, value] of given.entries()) {
    const expected = n === given.length - 1 ? value : { result: value }
    const headers = { 'request-id': `output-${n}` }
    for (const attempt of ['first', 'repeat']) {
      const { status, body } = await client.request('POST', '/core/v1/tool/execute', {
        body: { tool_name: `gives${n}`, tool_input: {} },
        headers,
      })
      assert.deepEqual({ status, output: body.output }, { status: 200, output: expected }, `${attempt} of ${JSON.stringify(value)}`)
    }
  }
  const { body: document } = await client.request('GET', '/openapi.json')
  const answer = document.paths['/core/v1/tool/execute'].post.responses['200'].content['application/json'].schema
  const name = answer.$ref.replace('#/components/schemas/', '')
  assert.equal(document.components.schemas[name].properties.output.type, 'object')
})

test('Tools: an unknown tool is 404, a missing or wrong parameter 400 that names it, another shape 422', async (t) => {
  const { client } = await startService(t, withFiles)
  assert.equal((await execute(client, 'nothing', {})).status, 404)
  assert.equal((await execute(client, '__proto__', {})).status, 404)
  const missing = await execute(client, 'calculator', {})
  assert.deepEqual({ status: missing.status, status_code: missing.body.status_code }, { status: 400, status_code: 400 })
  assert.match(missing.body.body, /expression/)
  assert.match((await execute(client, 'calculator', { expression: 1 })).body.body, /expression/)
  assert.match((await execute(client, 'calculator', { expression: '1', more: 2 })).body.body, /more/)
  for (const body of [
    {},
    { tool_name: 1 },
    { tool_name: 'calculator', tool_input: [] },
    { tool_name: 'calculator', tool_input: 'x' },
    [],
  ]) {
    const { status, body: reply } = await client.request('POST', '/core/v1/tool/execute', { body })
    assert.deepEqual([status, Array.isArray(reply.detail), reply.detail[0].loc[0]], [422, true, 'body'], JSON.stringify(body))
  }
})

test('Tools: a tool that needs approval is not run directly, and its input is not checked', async (t) => {
  const made: unknown[] = []
  const send = fakeTool('send', async (input) => made.push(input), { effect: 'write', approval: { by: 'caller' } })
  const { client } = await startService(t, { tools: [send] })
  for (const tool_input of [{ to: 'a' }, {}]) {
    const reply = await client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'send', tool_input } })
    assert.deepEqual(
      { status: reply.status, status_code: reply.body.status_code, details: reply.body.details },
      { status: 409, status_code: 409, details: { error_type: 'ApprovalRequired' } },
    )
    assert.match(reply.body.body, /send needs the approval of a person/)
  }
  assert.deepEqual(made, [])
})

test('Tools: a tool that failed or timed out is 200 with status error', async (t) => {
  const fails = fakeTool('fails', async () => Promise.reject(new Error('out of paper')))
  const slow = fakeTool('slow', () => new Promise(() => {}), { timeoutMs: 50 })
  const { client } = await startService(t, { tools: [fails, slow], script: {} })
  const failed = await execute(client, 'fails', {})
  assert.deepEqual([failed.status, failed.body.status, failed.body.output], [200, 'error', { error: 'out of paper' }])
  const late = await execute(client, 'slow', {})
  assert.deepEqual([late.status, late.body.status], [200, 'error'])
  assert.match(late.body.output.error, /0\.05 s/)
})

test('Tools: a disconnect cancels a direct execution', async (t) => {
  const cancelled = Promise.withResolvers<void>()
  const entered = Promise.withResolvers<void>()
  const waits = fakeTool('waits', async (_input, { signal }) => {
    signal.addEventListener('abort', () => cancelled.resolve())
    entered.resolve()
    return new Promise(() => {})
  })
  const { client, url, key } = await startService(t, { tools: [waits], script: {} })
  assert.equal((await client.request('GET', '/core/v1/tools')).body.count, 1)
  const leaving = new AbortController()
  const headers = { 'x-service-access': (await key()).key, 'content-type': 'application/json' }
  const body = JSON.stringify({ tool_name: 'waits' })
  const asked = fetch(`${url}/core/v1/tool/execute`, { method: 'POST', headers, body, signal: leaving.signal })
  await entered.promise
  leaving.abort()
  await assert.rejects(asked)
  await cancelled.promise
})

test('Tools: data filter hints are enforced in direct execution', async (t) => {
  const { client } = await startService(t, withFiles)
  const sql = 'select count(*) as n, sum(amount) as total from sales'
  const all = await execute(client, 'sales', { sql })
  assert.match(JSON.stringify(all.body.output), /60/)
  const north = await execute(client, 'sales', { sql }, { data_filter_hints: [hint('sales', 'region', 'North')] })
  assert.match(JSON.stringify(north.body.output), /40/)
  const neither = [hint('sales', 'region', 'North'), hint('sales', 'region', 'South')]
  assert.match(JSON.stringify((await execute(client, 'sales', { sql }, { data_filter_hints: neither })).body.output), /\b0\b/)
  const people = await execute(client, 'docs', { query: 'days of leave' }, { data_filter_hints: [hint('docs', 'department', 'People')] })
  assert.match(people.text, /thirty days/)
  assert.doesNotMatch(people.text, /ninety/)
})

test('Tools: filters are equals, not_equals, in and contains; filters of one tool are ANDed, and values have the type of the column', async (t) => {
  const sales = 'region,amount,day\nNorth,10,2024-01-02\nSouth,9,2024-01-03\n"Far, East",10.0,2024-02-01\n'
  const tools = [{ name: 'sales', type: 'data_query', config: { tables: { sales: 'sales.csv' } } }]
  const { client } = await startService(t, { config: { tools }, files: { 'sales.csv': sales } })
  const rowsFor = async (...hints: [key: string, type: string, value: string][]) => {
    const body = {
      tool_name: 'sales',
      tool_input: { sql: 'select region from sales order by 1' },
      data_filter_hints: hints.map(([filter_key, filter_type, filter_value]) => ({
        tool_name: 'sales',
        filter_key,
        filter_type,
        filter_value,
      })),
    }
    return (await client.request('POST', '/core/v1/tool/execute', { body })).body.output.rows.flat().join('; ')
  }
  assert.equal(await rowsFor(['region', 'not_equals', 'North']), 'Far, East; South')
  assert.equal(await rowsFor(['region', 'in', 'North, South']), 'North; South')
  assert.equal(await rowsFor(['region', 'contains', 'or']), 'North')
  assert.equal(await rowsFor(['region', 'contains', '%']), '')
  assert.equal(await rowsFor(['amount', 'equals', '10.00']), 'Far, East; North')
  assert.equal(await rowsFor(['amount', 'in', '7,9']), 'South')
  assert.equal(await rowsFor(['amount', 'equals', 'ten']), '')
  assert.equal(await rowsFor(['day', 'equals', '2024-01-02']), 'North')
  assert.equal(await rowsFor(['amount', 'equals', '10'], ['day', 'contains', '2024-02']), 'Far, East')
})

test('Tools: a filter key that the data lacks matches nothing', async (t) => {
  const { client } = await startService(t, withFiles)
  const rows = await execute(client, 'sales', { sql: 'select * from sales' }, { data_filter_hints: [hint('sales', 'planet', 'Mars')] })
  assert.doesNotMatch(rows.text, /North|South/)
  const found = await execute(client, 'docs', { query: 'leave' }, { data_filter_hints: [hint('docs', 'planet', 'Mars')] })
  assert.doesNotMatch(found.text, /thirty|ninety/)
})

test('Tools: data filter hints are enforced in a chat, whatever the model requests', async (t) => {
  const { client, model } = await startService(t, {
    ...withFiles,
    script: [
      {
        calls: [callOf('sales', { sql: 'select region, sum(amount) from sales group by 1' }), callOf('docs', { query: 'leave' })].flatMap(
          (one) => one.calls,
        ),
      },
      { text: 'done' },
    ],
  })
  const data_filter_hints = [hint('sales', 'region', 'South'), hint('docs', 'department', 'People')]
  const { status } = await client.chat({ messages: [{ role: 'user', content: 'go' }], data_filter_hints })
  assert.equal(status, 200)
  const [sales, docs] = model.requests[1]!.body.messages.slice(-2).map((message: { content: string }) => message.content)
  assert.match(sales, /South/)
  assert.doesNotMatch(sales, /North/)
  assert.match(docs, /thirty/)
  assert.doesNotMatch(docs, /ninety/)
  // Descriptions for the model must not reveal filtered data.
  assert.doesNotMatch(JSON.stringify(model.requests), /North|ninety/)
})

test('Tools: in that run, no other tool can read the files behind a hinted tool', async (t) => {
  const reads = ['data/sales.csv', 'docs/secret.md', 'docs/public.md'].map((path) => callOf('read_file', { path }).calls[0]!)
  const { client, model } = await startService(t, {
    ...withFiles,
    script: [{ calls: reads }, { text: 'done' }, { calls: reads }, { text: 'done' }],
  })
  const messages = [{ role: 'user', content: 'go' }]
  await client.chat({ messages, data_filter_hints: [hint('sales', 'region', 'South'), hint('docs', 'department', 'People')] })
  const told = (index: number) => model.requests[index]!.body.messages.slice(-3).map((message: { content: string }) => message.content)
  assert.doesNotMatch(told(1).join('\n'), /North|ninety|thirty/)
  await client.chat({ messages, data_filter_hints: [hint('sales', 'region', 'South')] })
  assert.doesNotMatch(told(3)[0], /North/)
  assert.match(told(3)[1], /ninety/)
  const direct = await execute(client, 'read_file', { path: 'data/sales.csv' }, { data_filter_hints: [hint('sales', 'region', 'South')] })
  assert.deepEqual([direct.status, direct.body.status], [200, 'error'])
  assert.doesNotMatch(direct.text, /North/)
})

test('Tools: a hint on an unknown tool, a tool without filters, or of an unknown type is 422', async (t) => {
  const { client, model } = await startService(t, { ...withFiles, script: {} })
  const messages = [{ role: 'user', content: 'go' }]
  for (const [one, field] of [
    [hint('nothing', 'a', 'b'), 'tool_name'],
    [hint('calculator', 'a', 'b'), 'tool_name'],
    [{ ...hint('sales', 'region', 'b'), filter_type: 'like' }, 'filter_type'],
  ] as const) {
    const loc = ['body', 'data_filter_hints', 0, field]
    const chain = await client.chat({ messages, data_filter_hints: [one] })
    assert.deepEqual({ status: chain.status, loc: chain.body.details.errors[0].loc }, { status: 422, loc })
    const stream = await client.stream({ messages, data_filter_hints: [one] })
    assert.deepEqual({ status: stream.status, loc: stream.body.detail[0].loc }, { status: 422, loc })
    const direct = await execute(client, 'calculator', { expression: '1' }, { data_filter_hints: [one] })
    assert.deepEqual({ status: direct.status, loc: direct.body.detail[0].loc }, { status: 422, loc })
    if (field === 'tool_name') assert.match(chain.body.body, new RegExp(one.tool_name))
  }
  assert.equal(model.requests.length, 0)
})

test('Tools: the embedded model answers from tools', async (t) => {
  const { client } = await startService(t, withFiles)
  const sum = await client.chat('What is 17% of 2,340?')
  assert.match(sum.body.body.output, /397\.8/)
  const sales = await client.chat('What were the total sales amount by region?')
  assert.match(sales.body.body.output, /North[\s\S]*40|40[\s\S]*North/)
  const called = sales.body.body.intermediate_steps.find((step: { type: string }) => step.type === 'tool_call')
  assert.equal(called.tool, 'sales')
})
