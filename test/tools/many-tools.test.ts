import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

/** Three hundred tools of six servers. */
const subjects = ['issue', 'invoice', 'shipment', 'customer', 'contract', 'meeting', 'ticket', 'employee', 'machine', 'sensor']
const verbs = ['create', 'list', 'find', 'close', 'archive']
const many = ['crm', 'erp', 'desk', 'plant', 'hr', 'mail'].flatMap((server) =>
  subjects.flatMap((subject) =>
    verbs.map((verb) =>
      fakeTool(`${server}__${verb}_${subject}`, async (input) => ({ did: `${server} ${verb} ${subject}`, ...input }), {
        description: `Can ${verb} each ${subject} that is kept in ${server}.`,
        schema: { type: 'object', properties: { [`${subject}_id`]: { type: 'string' } } },
      }),
    ),
  ),
)

const tools = [
  { name: 'calculator' },
  { name: 'sales', type: 'data_query', config: { tables: { sales: 'data/sales.csv' } } },
  { name: 'read_file' },
]
const files = { 'data/sales.csv': 'region,amount\nNorth,10\nSecretland,20\n' }

const toldIn = ({ body }: ModelServerRequest): string[] => body.tools.map((tool: { function: { name: string } }) => tool.function.name)
const ask = (content: string, extra: object = {}) => ({ messages: [{ role: 'user', content }], ...extra })

test('Many tools: the model is offered at most twenty, finds another and calls it', async (t) => {
  const script = [
    callOf('find_tools', { query: 'archive sensor in plant', limit: 3 }),
    callOf('plant__archive_sensor', { sensor_id: 's1' }),
    { text: 'Archived.' },
  ]
  const { client, model } = await startService(t, { script, tools: many, config: { tools }, files })
  const { status, body } = await client.request('POST', '/core/v1/chain', { body: ask('Which invoice is open in erp?') })
  assert.deepEqual({ status, output: body.body.output }, { status: 200, output: 'Archived.' })
  const [first, second, third] = model.requests.map(toldIn)
  assert.ok(first && second && first.length <= 20, String(first?.length))
  assert.ok(first.includes('erp__list_invoice') && first.includes('find_tools') && first.includes('create_sub_agent'))
  assert.ok(!first.includes('plant__archive_sensor'))
  assert.deepEqual(second, [...first, ...second.slice(first.length)])
  assert.equal(second[first.length], 'plant__archive_sensor')
  assert.deepEqual(third, second)
  assert.ok(JSON.stringify(model.requests[0]!.body.tools).length < 12_000, 'no list of all names stands in a description')

  const [found, archived] = body.body.intermediate_steps
  assert.deepEqual(
    { tool: found.tool, status: found.status, type: found.type },
    { tool: 'find_tools', status: 'success', type: 'tool_call' },
  )
  assert.deepEqual({ total: found.output.total, toolCount: found.output.tools.length }, { total: 303, toolCount: 3 })
  assert.deepEqual(found.output.tools[0], {
    name: 'plant__archive_sensor',
    description: 'Can archive each sensor that is kept in plant.',
    parameters: ['sensor_id'],
  })
  assert.deepEqual(archived.output, { did: 'plant archive sensor', sensor_id: 's1' })
})

test('Many tools: a tool found in one chat is offered in the next chat of the session', async (t) => {
  const script = [
    callOf('find_tools', { query: 'archive sensor' }),
    callOf('plant__archive_sensor', {}),
    { text: 'Archived.' },
    { text: 'Yes.' },
  ]
  const { client, model } = await startService(t, { script, tools: many })
  const headers = { 'session-id': 'one' }
  await client.request('POST', '/core/v1/chain', { body: ask('Do it.'), headers })
  await client.request('POST', '/core/v1/chain', { body: ask('Once more?'), headers })
  const last = toldIn(model.requests.at(-1)!)
  assert.ok(last.includes('plant__archive_sensor') && last.length <= 20, last.join())
})

test('Many tools: filtered data is neither described nor found', async (t) => {
  const script = [callOf('find_tools', { query: 'Secretland' }), callOf('find_tools', { query: 'sales sql' }), { text: 'Done.' }]
  const { client, model } = await startService(t, { script, tools: many, config: { tools }, files })
  const hint = { tool_name: 'sales', filter_key: 'region', filter_type: 'equals', filter_value: 'North' }
  const { status, body } = await client.request('POST', '/core/v1/chain', {
    body: ask('What is sold?', { data_filter_hints: [hint] }),
  })
  assert.equal(status, 200)
  const steps = body.body.intermediate_steps
  assert.deepEqual(steps[0].output.tools, [])
  assert.equal(steps[1].output.tools[0].name, 'sales')
  assert.doesNotMatch(JSON.stringify([steps[0].output, steps[1].output, model.requests.map((request) => request.body.tools)]), /Secretland/)
})

test('Many tools: a sub-agent may use whole entries, and is offered the tools that fit its task', async (t) => {
  const [crm, plant] = ['crm', 'plant'].map((name) => ({ name, type: 'mcp', config: { url: 'http://127.0.0.1:1/mcp' } }))
  const script = (request: ModelServerRequest) => {
    const isParent = toldIn(request).includes('sub_agent_keeper')
    if (isParent && request.body.messages.at(-1).role === 'user') return callOf('sub_agent_keeper', { task: 'Archive the sensor.' })
    return { text: 'Done.' }
  }
  const { client, model } = await startService(t, { script, tools: many, config: { tools: [crm, plant] } })
  const definition = { name: 'keeper', tools: ['crm', 'plant', 'hr__list_issue'] }
  const { status, body } = await client.request('POST', '/core/v1/chain/sub_agents', { body: definition })
  assert.equal(status, 200, JSON.stringify(body))
  const refused = await client.request('POST', '/core/v1/chain/sub_agents', { body: { name: 'x', tools: ['hr'] } })
  assert.deepEqual({ status: refused.status, loc: refused.body.detail?.[0]?.loc }, { status: 422, loc: ['body', 'tools', 0] })
  await client.request('POST', '/core/v1/chain', { body: ask('Have the sensor archived.') })
  const offered = model.requests.map(toldIn).find((names) => !names.includes('sub_agent_keeper'))!
  assert.ok(offered.includes('plant__archive_sensor') && offered.includes('find_tools') && offered.length <= 20, offered.join())
  assert.ok(
    offered.every((name) => name === 'find_tools' || /^(crm|plant|hr)__/.test(name)),
    offered.join(),
  )
})

test('Many tools: a plan is made with a small selection', async (t) => {
  const script = (request: ModelServerRequest) => {
    const last = request.body.messages.at(-1)
    if (String(last.content).includes('make a plan')) return { text: '["Archive the sensor in plant.", "Say so."]' }
    return { text: 'Done.' }
  }
  const { client, model } = await startService(t, { script, tools: many, config: { workflow_type: 'plan_execute' } })
  await client.request('POST', '/core/v1/chain', { body: ask('Which invoice is open?') })
  const plan = String(model.requests[0]!.body.messages.at(-1).content)
  assert.ok(plan.split('\n').filter((line) => line.startsWith('- ')).length <= 20, plan)
  const step = model.requests.map((request) => (request.body.tools ? toldIn(request) : [])).find((offered) => offered.length > 0)!
  assert.ok(step.includes('plant__archive_sensor') && step.length <= 25)
})
