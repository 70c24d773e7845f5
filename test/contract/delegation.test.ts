import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelAnswer, ModelServerRequest } from '../fixtures/model-server.ts'
import { outputOf, type Client } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'

const all = '/core/v1/chain/sub_agents'
const noCreation = { sub_agents: { may_create: false } }
const usage = { input: 10, output: 5 }

async function create(client: Client, name: string, tools: string[] = [], more: object = {}): Promise<string> {
  const body = { name, description: `Does ${name}.`, objective: `Be ${name}.`, tools, ...more }
  const reply = await client.request('POST', all, { body })
  assert.equal(reply.status, 200, reply.text)
  return reply.body.sub_agent_id
}

const statusOf = async (client: Client, id: string) => (await client.request('GET', `${all}/${id}`)).body.status

interface Asked {
  /** Name of the requested sub-agent, `agent` for the agent itself. */
  who: string
  /** Text of the last user message. */
  task: string
  /** Texts of the tool results after that message. */
  results: string[]
  tools: string[]
}

function read({ body }: ModelServerRequest): Asked {
  const [, who = 'agent'] = /You are the sub-agent "([^"]+)"/.exec(body.messages[0].role === 'system' ? body.messages[0].content : '') ?? []
  const from = body.messages.findLastIndex((one: { role: string }) => one.role === 'user')
  const behind = body.messages.slice(from + 1)
  const results = behind.filter((one: { role: string }) => one.role === 'tool').map((one: { content: string }) => toText(one.content))
  return { who, task: body.messages[from].content, results, tools: (body.tools ?? []).map((one: any) => one.function.name) }
}

/** A model failure with a message. */
function toText(content: string): string {
  return /^\{"error":"(.*)"\}$/.exec(content)?.[1] ?? content
}

/** A script with replies by requested agent. */
function script(parts: Record<string, (asked: Asked) => ModelAnswer>) {
  return (request: ModelServerRequest): ModelAnswer => {
    const asked = read(request)
    return { usage, ...(parts[asked.who] ?? (() => ({ text: `${asked.who} is not scripted` })))(asked) }
  }
}

const delegate = (name: string, task: string) => ({ name: `sub_agent_${name}`, arguments: JSON.stringify({ task }) })
/** Delegates tasks at first, then reports the results. */
const gives =
  (...calls: { name: string; arguments: string }[]) =>
  ({ results }: Asked): ModelAnswer =>
    results.length > 0 ? { text: `Got: ${results.join(' | ')}` } : { calls }
/** Calls a tool and reports its result. */
const looks =
  (tool: string) =>
  ({ results, task }: Asked): ModelAnswer =>
    results.length > 0 ? { text: `${task}: ${results.join()}` } : callOf(tool, { task })

test('a delegated task: its steps, usage and result are part of the run', async (t) => {
  const model = script({ agent: gives(delegate('res_search_r', 'find x')), 'rés search.r': looks('look') })
  const { client, model: server } = await startService(t, {
    script: model,
    config: { ...noCreation, instructions: 'Be kind.' },
    tools: [fakeTool('look', async ({ task }) => `found ${String(task)}`), fakeTool('other', async () => 1)],
  })
  const id = await create(client, 'rés search.r', ['look'])
  const before = (await client.request('GET', `${all}/${id}`)).body.last_active
  const { body } = (await client.chat('go', { 'session-id': 's' })).body
  assert.equal(body.output, 'Got: find x: found find x')
  assert.deepEqual(
    body.intermediate_steps.map((step: any) => [step.type, step.tool, step.tool_input, step.status, step.sub_agent ?? null, step.output]),
    [
      ['sub_agent_call', 'sub_agent:rés search.r', { task: 'find x' }, 'success', null, 'find x: found find x'],
      ['tool_call', 'look', { task: 'find x' }, 'success', 'rés search.r', 'found find x'],
    ],
  )
  assert.match(body.intermediate_steps[0].log, /look: success\nDone\./)
  const [tokens, ...seconds] = body.usage
  assert.deepEqual(tokens, {
    costAttribute: 'scripted',
    usage: 60,
    unit: 'tokens',
    details: { input: 40, output: 20, cached_input: 0, reasoning: 0 },
  })
  assert.deepEqual(seconds.map((entry: any) => entry.costAttribute).toSorted(), ['tool:look', 'tool:sub_agent:rés search.r'])
  const asked = server.requests.map(read)
  assert.deepEqual(
    asked.map(({ who, tools }) => [who, tools]),
    [
      ['agent', ['look', 'other', 'sub_agent_res_search_r']],
      ['rés search.r', ['look']],
      ['rés search.r', ['look']],
      ['agent', ['look', 'other', 'sub_agent_res_search_r']],
    ],
  )
  const [system, task, ...rest] = server.requests[1]!.body.messages
  assert.match(system.content, /^Be kind\.\n\nYou are the sub-agent "rés search\.r"\.[\s\S]*Does rés search\.r\.[\s\S]*Be rés search\.r\./)
  assert.deepEqual({ task, rest }, { task: { role: 'user', content: 'find x' }, rest: [] })
  assert.equal(await statusOf(client, id), 'ready')
  assert.ok((await client.request('GET', `${all}/${id}`)).body.last_active > before)
  // A later turn sees only the call and its result.
  await client.chat('again', { 'session-id': 's' })
  const shown = server.requests.at(-1)!.body.messages.flatMap((one: any) => (one.tool_calls ?? []).map((call: any) => call.function.name))
  assert.deepEqual(shown, ['sub_agent_res_search_r', 'sub_agent_res_search_r'])
})

test('Streaming: a sub-agent is a step with its name, its tools are inner steps, and its text is not part of the answer', async (t) => {
  const model = script({ agent: gives(delegate('helper', 'x')), helper: looks('look') })
  const { client } = await startService(t, { script: model, config: noCreation, tools: [fakeTool('look', async () => 'seen')] })
  await create(client, 'helper', ['look'])
  const events = await (await client.stream('go')).rest()
  assert.deepEqual(
    events.map(({ chunk }) => `${chunk.agent_step}${chunk.step ? ` ${chunk.step.status}` : ''} ${chunk.token}`.trim()),
    ['sub_agent:helper', 'tool:look', 'tool:look success', 'sub_agent:helper success', 'answer Got: x: seen', 'answer'],
  )
  assert.equal(outputOf(events), 'Got: x: seen')
})

test('several sub-agents work in parallel, up to the configured limit', async (t) => {
  for (const concurrency of [4, 2]) {
    let together = 0
    let most = 0
    const gate = gatedTool('wait')
    const arrived = Promise.withResolvers<void>()
    const wait = fakeTool('wait', async (input, context) => {
      together++
      most = Math.max(most, together)
      if (together === Math.min(concurrency, 3)) arrived.resolve()
      await gate.tool.execute(input, context)
      together--
      return 'ok'
    })
    const names = ['a', 'b', 'c']
    const model = script({
      agent: gives(...names.map((name) => delegate(name, name))),
      a: looks('wait'),
      b: looks('wait'),
      c: looks('wait'),
    })
    const config = { sub_agents: { may_create: false, concurrency } }
    const { client } = await startService(t, { script: model, config, tools: [wait] })
    for (const name of names) await create(client, name, ['wait'])
    const chat = client.chat('go')
    await arrived.promise
    gate.open()
    const { body } = (await chat).body
    assert.equal(body.output, 'Got: a: ok | b: ok | c: ok')
    assert.equal(most, Math.min(concurrency, 3))
    assert.equal(body.usage[0].usage, 8 * 15)
  }
})

test('sub-agents delegate up to the allowed depth, never to themselves, and without deadlock', async (t) => {
  const parts = {
    agent: gives(delegate('a', '1'), delegate('b', '1')),
    a: ({ results, tools, task }: Asked): ModelAnswer =>
      results.length > 0
        ? { text: `a(${results.join()})` }
        : {
            calls: tools
              .filter((name) => name.startsWith('sub_'))
              .map((name) => ({ name, arguments: JSON.stringify({ task: `${task}.1` }) })),
          },
    b: ({ results, tools, task }: Asked): ModelAnswer =>
      results.length > 0 || !tools.some((name) => name.startsWith('sub_'))
        ? { text: `b(${results.join()})` }
        : { calls: [delegate('c', `${task}.2`)] },
    c: ({ task }: Asked): ModelAnswer => ({ text: `c(${task})` }),
  }
  const config = { sub_agents: { may_create: false, max_depth: 2, concurrency: 1 } }
  const { client, model } = await startService(t, { script: script(parts), config })
  for (const name of ['a', 'b', 'c']) await create(client, name)
  const { body } = (await client.chat('go')).body
  assert.equal(body.output, 'Got: a(b(),c(1.1)) | b(c(1.2))')
  const asked = model.requests.map(read)
  assert.deepEqual(asked.find(({ who }) => who === 'a')?.tools, ['sub_agent_b', 'sub_agent_c'])
  assert.deepEqual(
    asked.filter(({ who, task }) => who === 'c' || task === '1.1').map(({ tools }) => tools),
    [[], [], []],
  )
  const inner = body.intermediate_steps.filter((step: any) => step.sub_agent).map((step: any) => `${step.sub_agent} > ${step.tool}`)
  assert.deepEqual(inner.toSorted(), ['a > sub_agent:b', 'a > sub_agent:c', 'b > sub_agent:c'])
  assert.equal(body.usage[0].usage, model.requests.length * 15)
})

test('a failing model of a sub-agent is an error for the agent; the sub-agent has status error until it succeeds', async (t) => {
  let fails = true
  const model = script({
    agent: gives(delegate('helper', 'x')),
    helper: () => (fails ? { status: 400, body: { error: { message: 'no' } } } : { text: 'fine' }),
  })
  const { client } = await startService(t, { script: model, config: noCreation })
  const id = await create(client, 'helper')
  const failed = await client.chat('go')
  assert.equal(failed.status, 200)
  assert.match(failed.body.body.output, /^Got: No model could answer/)
  assert.equal(failed.body.body.intermediate_steps[0].status, 'error')
  assert.equal(await statusOf(client, id), 'error')
  fails = false
  assert.equal((await client.chat('go')).body.body.output, 'Got: fine')
  assert.equal(await statusOf(client, id), 'ready')
})

test('DELETE of a sub-agent cancels its task: the agent gets an error and continues', async (t) => {
  const gate = gatedTool('wait')
  const model = script({ agent: gives(delegate('helper', 'x')), helper: looks('wait') })
  const { client } = await startService(t, { script: model, config: noCreation, tools: [gate.tool] })
  const id = await create(client, 'helper', ['wait'])
  const chat = client.chat('go')
  await gate.entered
  assert.equal(await statusOf(client, id), 'busy')
  assert.equal((await client.request('DELETE', `${all}/${id}`)).status, 200)
  await gate.cancelled
  const { status, body } = await chat
  assert.deepEqual({ status, output: body.body.output }, { status: 200, output: 'Got: The sub-agent helper was terminated.' })
  assert.equal((await client.request('GET', `${all}/${id}`)).status, 404)
  assert.equal((await client.chat('go')).body.body.intermediate_steps[0].tool, 'sub_agent_helper')
})

test('cancelling a run cancels its sub-agents with their tools; their steps end before the step of the sub-agent', async (t) => {
  const gate = gatedTool('wait')
  const model = script({ agent: gives(delegate('helper', 'x')), helper: looks('wait') })
  const { client } = await startService(t, { script: model, config: noCreation, tools: [gate.tool] })
  const id = await create(client, 'helper', ['wait'])
  const stream = await client.stream('go', { 'request-id': 'r' })
  await gate.entered
  await client.request('DELETE', '/core/v1/runs/r')
  await gate.cancelled
  const events = await stream.rest()
  assert.deepEqual(
    events.map(({ chunk }) => `${chunk.agent_step} ${chunk.step?.status ?? ''} ${chunk.finish_reason}`),
    ['sub_agent:helper  null', 'tool:wait  null', 'tool:wait error null', 'sub_agent:helper error null', 'answer  cancelled'],
  )
  assert.equal(await statusOf(client, id), 'ready')
})

test('the execution time of a run limits its sub-agents', async (t) => {
  const gate = gatedTool('wait')
  const model = script({ agent: gives(delegate('helper', 'x')), helper: looks('wait') })
  const { client } = await startService(t, { script: model, config: { ...noCreation, max_execution_time: 0.5 }, tools: [gate.tool] })
  await create(client, 'helper', ['wait'])
  const events = await (await client.stream('go')).rest()
  assert.equal(events.at(-1)?.chunk.finish_reason, 'timeout')
})

test('hints and context bind the whole run: a sub-agent cannot read around them, even without the hinted tool', async (t) => {
  const seen: unknown[] = []
  const sales = fakeTool('sales', async (_, { filters }) => seen.push(filters), {
    filters: true,
    readsFile: (path) => path === 'sales.csv',
  })
  const open = fakeTool('open', async (_, { isWithheld, headers, filters }) =>
    seen.push([isWithheld('sales.csv'), isWithheld('notes.md'), headers, filters]),
  )
  const model = script({ agent: gives(delegate('helper', 'x')), helper: looks('open') })
  const { client } = await startService(t, { script: model, config: noCreation, tools: [sales, open] })
  await create(client, 'helper', ['open'])
  const hint = { tool_name: 'sales', filter_key: 'region', filter_type: 'equals', filter_value: 'North' }
  await client.chat({ messages: [{ role: 'user', content: 'go' }], data_filter_hints: [hint] }, { 'stix-user': 'u1' })
  assert.deepEqual(seen, [[true, false, { 'stix-user': 'u1' }, []]])
})

test("the agent creates a sub-agent, delegates in its next turn, and ends it, but none of the caller's", async (t) => {
  const calls = [
    callOf('create_sub_agent', { name: 'worker', description: 'Works.', objective: 'Work.', tools: ['look_up'] }),
    { calls: [delegate('worker', 'x')] },
    {
      calls: [
        { name: 'end_sub_agent', arguments: '{"name":"worker"}' },
        { name: 'end_sub_agent', arguments: '{"name":"mine"}' },
      ],
    },
  ]
  const model = script({ agent: ({ results }) => calls[results.length] ?? { text: results.join(' | ') }, worker: looks('look_up') })
  const { client, model: server } = await startService(t, { script: model, tools: [fakeTool('look.up', async () => 'seen')] })
  await create(client, 'mine')
  const { body } = (await client.chat('go')).body
  assert.equal(body.output, 'Created. Give it tasks with sub_agent_worker. | x: seen | Ended. | You have created no sub-agent mine.')
  assert.deepEqual(
    server.requests
      .map(read)
      .filter(({ who }) => who === 'agent')
      .map(({ tools }) => tools.slice(1)),
    [
      ['sub_agent_mine', 'create_sub_agent'],
      ['sub_agent_mine', 'sub_agent_worker', 'create_sub_agent', 'end_sub_agent'],
      ['sub_agent_mine', 'sub_agent_worker', 'create_sub_agent', 'end_sub_agent'],
      ['sub_agent_mine', 'create_sub_agent'],
    ],
  )
  const { sub_agents: left } = (await client.request('GET', all)).body
  assert.deepEqual(
    left.map((one: { name: string }) => one.name),
    ['mine'],
  )
})

test('the agent gets an error for an unknown tool, a used name, and too many sub-agents', async (t) => {
  const make = (name: string, tools: string[]) => ({
    name: 'create_sub_agent',
    arguments: JSON.stringify({ name, description: '', objective: '', tools }),
  })
  const model = script({
    agent: ({ results }) =>
      results.length > 0
        ? { text: results.join(' | ') }
        : { calls: [make('a', ['nothing']), make('mine', []), make('b', []), make('c', []), make('', []), make('d', 'x' as never)] },
  })
  const config = { sub_agents: { max: 2 } }
  const { client } = await startService(t, { script: model, config, tools: [fakeTool('look', async () => 1)] })
  await create(client, 'mine')
  assert.deepEqual((await client.chat('go')).body.body.output.split(' | '), [
    'There is no tool nothing. The tools are: look.',
    'There is a sub-agent mine already.',
    'Created. Give it tasks with sub_agent_b.',
    'There are 2 sub-agents already; no more are allowed.',
    'The arguments of create_sub_agent do not fit: name must be one line of text.',
    'The arguments of create_sub_agent do not fit: tools must be a list of names.',
  ])
})

test('a sub-agent with a plan: its plans are steps of the run, its text is not', async (t) => {
  const model = script({
    agent: gives(delegate('planner', 'x')),
    planner: ({ task }) =>
      task.includes('make a plan') ? { text: '["A.", "B."]' } : { text: task.startsWith('Step') ? task.slice(0, 6) : 'done' },
  })
  const { client } = await startService(t, { script: model, config: noCreation })
  await create(client, 'planner', [], { workflow_type: 'plan_execute' })
  const events = await (await client.stream('go', { 'session-id': 's' })).rest()
  assert.deepEqual(
    events.map(({ chunk }) => `${chunk.agent_step} ${chunk.step?.status ?? ''}${chunk.token}`.trim()),
    ['sub_agent:planner', 'planning', 'planning success', 'sub_agent:planner success', 'answer Got: done', 'answer'],
  )
  const [, answer] = (await client.session('s')).body.messages
  assert.deepEqual(answer.additional_context, [])
  assert.equal(events.at(-1)?.chunk.usage[0]?.usage, 6 * 15)
})

test('the embedded model delegates to a named sub-agent, and creates none itself', async (t) => {
  const { client } = await startService(t, { config: { tools: [{ name: 'calculator' }, { name: 'current_time' }] } })
  await create(client, 'accountant', ['calculator'])
  const { body } = (await client.chat('Ask the accountant to calculate 17% of 2,340.')).body
  assert.deepEqual(
    body.intermediate_steps.filter((step: any) => step.type !== 'reasoning').map((step: any) => [step.tool, step.status]),
    [
      ['sub_agent:accountant', 'success'],
      ['calculator', 'success'],
    ],
  )
  assert.match(body.output, /397\.8/)
  const direct = (await client.chat('What is 17% of 2,340?')).body.body
  assert.deepEqual(
    direct.intermediate_steps.map((step: any) => step.tool),
    ['rules-1', 'calculator'],
  )
  assert.doesNotMatch((await client.chat('What can you do?')).body.body.output, /create_sub_agent/)
})
