import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ample, inputPrice, outputPrice, sameAsCounted, startCounted, until, windowOf, type Script } from '../fixtures/counted-budgets.ts'
import { startModelServer } from '../fixtures/model-server.ts'
import { scripted } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

/** Attempts of model calls inside of runs: what is spent is what the servers counted, whatever becomes of the attempt. */

const lastOf = (body: any): string => String(body.messages.at(-1).content)
const systemOf = (body: any): string => (body.messages[0].role === 'system' ? String(body.messages[0].content) : '')
const call = (name: string, task = 'Work.') => ({ name: `sub_agent_${name}`, arguments: JSON.stringify({ task }) })

test('sub-agents in parallel and inside of another are counted call by call', async (t) => {
  const script: Script = ({ body }) => {
    if (body.messages.at(-1).role === 'tool') return { text: 'Done.' }
    if (systemOf(body).includes('sub-agent "outer"')) return { calls: [call('inner')] }
    return lastOf(body).endsWith('Delegate.') ? { calls: [call('outer'), call('inner')] } : undefined
  }
  const service = await startCounted(t, [ample('caller', 'caller'), ample('run', 'run', { window: undefined })], {
    script,
    config: { sub_agents: { max_depth: 2 } },
  })
  for (const name of ['inner', 'outer']) {
    const body = { name, description: `Does ${name}.`, objective: `Be ${name}.` }
    const made = await service.client.request('POST', '/core/v1/chain/sub_agents', { body })
    assert.equal(made.status, 200, made.text)
  }
  assert.equal((await service.client.chat('Delegate.')).status, 200)
  assert.ok(service.server.requests.length >= 4, String(service.server.requests.length))
  await sameAsCounted(service)
  await sameAsCounted(service, 'run')
})

test('a plan with its steps is counted call by call', async (t) => {
  const script: Script = ({ body }) => {
    const asked = String(body.messages.findLast((one: any) => one.role === 'user').content)
    if (asked.includes('make a plan')) return { text: 'Sure: ["Look up A.", "Look up B."]' }
    if (body.messages.at(-1).role === 'tool') return { text: 'A is 1.' }
    return asked.startsWith('Step 1') ? callOf('look') : undefined
  }
  const service = await startCounted(t, [ample('caller', 'caller')], {
    script,
    config: { workflow_type: 'plan_execute' },
    tools: [fakeTool('look', async () => 1)],
  })
  assert.equal((await service.client.chat('What are A and B?')).status, 200)
  assert.equal(service.server.requests.length, 5)
  await sameAsCounted(service)
})

test('repairs of an answer with a schema, empty answers and refused attempts are counted, the refused ones with nothing', async (t) => {
  let calls = 0
  const answers = [{ status: 429, body: {}, usage: { input: 0, output: 0 } }, { text: [''] }, { text: 'no JSON' }, { text: '{"price":1}' }]
  const service = await startCounted(t, [ample('caller', 'caller')], { script: () => answers[calls++]! })
  const schema = { type: 'object', properties: { price: { type: 'number' } }, required: ['price'], additionalProperties: false }
  const reply = await service.client.chat({ messages: [{ role: 'user', content: 'Price?' }], response_schema: schema })
  assert.deepEqual([reply.status, calls], [200, 4], reply.text)
  await sameAsCounted(service)
})

test('a fallback is paid at its own price, behind failed attempts that cost nothing', async (t) => {
  const fallback = await startModelServer({ text: 'Four.', usage: { input: 50, output: 10 } })
  t.after(() => fallback.close())
  const service = await startCounted(t, [ample('caller', 'caller')], {
    script: () => ({ status: 400, body: {}, usage: { input: 0, output: 0 } }),
    fallback: [{ ...scripted(fallback), model: 'dear', prices: { input: 10, output: 30 } }],
  })
  assert.equal((await service.client.chat('2 + 2?')).status, 200)
  await sameAsCounted(service, 'caller', 50 * 10_000 + 10 * 30_000)
})

test('a cancelled run pays for its input and what arrived, and holds nothing', async (t) => {
  const service = await startCounted(t, [ample('caller', 'caller')], {
    script: () => ({ text: ['Half of', ' it'], silentAfter: 2, breakAfter: 9 }),
  })
  const stream = await service.client.stream('Tell me all.', { 'request-id': 'r1' })
  await stream.next()
  const cancelled = await service.client.request('DELETE', '/core/v1/runs/r1')
  assert.ok(cancelled.status < 300, cancelled.text)
  await stream.rest()
  await until(
    () => windowOf(service, 'caller').reserved === 0,
    () => windowOf(service, 'caller'),
  )
  const { spent } = windowOf(service, 'caller')
  const input = Math.ceil((24 + 'Tell me all.'.length) / 2) * inputPrice
  assert.ok(spent > input && spent <= input + Math.ceil('Half of it'.length / 2) * outputPrice, String(spent))
})

test('the arguments of a tool call that breaks off are paid like text', async (t) => {
  const piece = 'x'.repeat(500)
  let calls = 0
  const broken = { calls: [{ name: 'look', arguments: ['{"a":"', piece, piece, '"}'] }], breakAfter: 5 }
  const service = await startCounted(t, [ample('caller', 'caller')], {
    script: () => (++calls === 1 ? broken : undefined),
    tools: [fakeTool('look', async () => 1)],
  })
  assert.equal((await service.client.chat('Look.')).status, 200)
  assert.equal(calls, 2)
  await until(
    () => windowOf(service, 'caller').reserved === 0,
    () => windowOf(service, 'caller'),
  )
  const uncounted = windowOf(service, 'caller').spent - service.counts.nanoUsd
  assert.ok(uncounted >= 500 * outputPrice, String(uncounted))
})

test('the configured length of answers is what is held and sent', async (t) => {
  const service = await startCounted(t, [ample('caller', 'caller')], { primary: { max_output_tokens: 500 } })
  await service.client.chat('2 + 2?')
  const { body } = service.server.requests[0]!
  assert.equal(body.max_completion_tokens ?? body.max_tokens, 500)
})

test('vectors of the files of the service are paid by the service alone', async (t) => {
  const service = await startCounted(t, [ample('tenant', 'tenant', { match: { operations: ['search'] } }), ample('service', 'service')], {
    config: { tools: [{ name: 'knowledge_search', config: { paths: ['docs/**'] } }] },
    files: { 'docs/leave.md': '# Leave\nEverybody has 25 days of annual leave.' },
  })
  const search = () =>
    service.client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'knowledge_search', tool_input: { query: 'leave' } } })
  const found = await search()
  assert.equal(found.status, 200, found.text)
  await until(
    () => service.counts.vectors > 0,
    () => service.counts,
  )
  await sameAsCounted(service, 'service')
  assert.equal(windowOf(service, 'tenant').spent, 0)
})
