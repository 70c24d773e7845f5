import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { startModelServer, type ModelAnswer, type ModelServerRequest } from '../fixtures/model-server.ts'
import { makeFolder, serve } from '../fixtures/process.ts'
import { outputOf, type StreamEvent } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'

const config = { workflow_type: 'plan_execute', sub_agents: { may_create: false } }
const last = ({ body }: ModelServerRequest): string => body.messages.at(-1).content
const lastUser = ({ body }: ModelServerRequest): string => body.messages.findLast((one: { role: string }) => one.role === 'user').content

/** Plans two steps, calls a tool in the first, and answers. */
function plans(request: ModelServerRequest): ModelAnswer {
  const asked = lastUser(request)
  if (asked.includes('make a plan')) return { text: 'Sure: ["Look up A.", "Look up B."]' }
  if (request.body.messages.at(-1).role === 'tool') return { text: 'A is 1.' }
  if (asked.startsWith('Step 1')) return callOf('look', { at: 'A' })
  if (asked.startsWith('Step 2')) return { text: 'B is 2.' }
  return asked.startsWith('Now answer') ? { text: 'A is 1, B is 2.' } : { text: `again: ${asked}` }
}

/** Labels in order, each with its text; the start of a step is empty, its end has its type. */
function labels(events: readonly StreamEvent[]): string[] {
  return events.map(({ chunk }) => `${chunk.agent_step}: ${chunk.step ? `[${chunk.step.tool}]` : chunk.token}`)
}

test('Streaming: in plan_execute plan and step text is planning, only the closing text is the answer', async (t) => {
  const { client } = await startService(t, { script: plans, config, tools: [fakeTool('look', async () => 1)] })
  const stream = await client.stream('What are A and B?', { 'session-id': 's' })
  const events = await stream.rest()
  assert.deepEqual(labels(events), [
    'planning: ',
    'planning: 1. Look up A.\n2. Look up B.\n',
    'planning: [plan]',
    'planning: \nStep 1 of 2: Look up A.\n',
    'tool:look: ',
    'tool:look: [look]',
    'planning: A is 1.',
    'planning: \nStep 2 of 2: Look up B.\n',
    'planning: B is 2.',
    'answer: A is 1, B is 2.',
    'answer: ',
  ])
  assert.deepEqual(
    { outputOf: outputOf(events), finish_reason: events.at(-1)?.chunk.finish_reason },
    { outputOf: 'A is 1, B is 2.', finish_reason: 'stop' },
  )
})

test('Chat, Sessions: the plan is a step and additional context; later turns see only the question and the answer', async (t) => {
  const { client, model } = await startService(t, { script: plans, config, tools: [fakeTool('look', async () => 1)] })
  const { body } = (await client.chat('What are A and B?', { 'session-id': 's' })).body
  assert.deepEqual(
    body.intermediate_steps.map((step: { type: string; tool: string; output: unknown }) => [step.type, step.tool, step.output]),
    [
      ['planning', 'plan', ['Look up A.', 'Look up B.']],
      ['tool_call', 'look', 1],
    ],
  )
  assert.deepEqual(
    body.usage.map((entry: { costAttribute: string }) => entry.costAttribute),
    ['scripted', 'tool:look'],
  )
  const [, answer] = (await client.session('s')).body.messages
  assert.deepEqual(answer.additional_context, [
    {
      context_type: 'planning',
      items: ['1. Look up A.\n2. Look up B.', 'Look up A.\nA is 1.', 'Look up B.\nB is 2.'].map((content) => ({ content })),
    },
  ])
  const before = model.requests.length
  await client.chat('And C?', { 'session-id': 's' })
  assert.deepEqual(
    model.requests[before]!.body.messages.slice(0, -1).map((one: { role: string; content: string }) => `${one.role}: ${one.content}`),
    ['user: What are A and B?', 'assistant: A is 1, B is 2.', 'user: And C?'],
  )
})

test('a model without a plan, such as the embedded one, executes the request directly', async (t) => {
  const { client } = await startService(t, { config: { ...config, tools: [{ name: 'calculator' }] } })
  const { body } = (await client.chat('What is 17% of 2,340?', { 'session-id': 's' })).body
  assert.match(body.output, /397\.8/)
  const again = (await client.chat('And 20%?', { 'session-id': 's' })).body.body
  assert.match(again.output, /468/)
  assert.deepEqual(
    again.intermediate_steps.map((step: { type: string }) => step.type),
    ['planning', 'reasoning', 'tool_call'],
  )
})

/** Like `plans`, with another second step. */
const secondStep =
  (answer: (request: ModelServerRequest) => ModelAnswer) =>
  (request: ModelServerRequest): ModelAnswer =>
    lastUser(request).startsWith('Step 2') ? answer(request) : plans(request)

test('Chat: plan_execute that ends by max_iterations or by time returns the best answer so far as closing text', async (t) => {
  const tools = [fakeTool('look', async () => 1)]
  const endless = { script: secondStep(() => callOf('look')), config: { ...config, max_iterations: 6 }, tools }
  const silent = { script: secondStep(() => ({ text: 'B', silentAfter: 2 })), config: { ...config, max_execution_time: 1 }, tools }
  for (const [options, reason, status, output] of [
    [endless, 'max_iterations', 'success', 'A is 1, B is 2.'],
    [silent, 'timeout', 'timeout', 'A is 1.'],
  ] as const) {
    const { client, model } = await startService(t, options)
    const events = await (await client.stream('What are A and B?', { 'request-id': 'r' })).rest()
    assert.deepEqual(
      { outputOf: outputOf(events), finish_reason: events.at(-1)?.chunk.finish_reason },
      { outputOf: output, finish_reason: reason },
    )
    const run = (await client.run('r')).body
    assert.deepEqual({ status: run.status, output: run.outcome.output }, { status, output })
    if (reason === 'max_iterations') assert.equal(model.requests.length, 6)
  }
})

test('Chat: a cancelled plan keeps the results of its steps; a failed plan is continued in its step', async (t) => {
  const gate = gatedTool('wait')
  let isFailing = true
  const script = secondStep((request) => {
    if (request.body.messages.some(({ content }: { content: string }) => content === 'cancel me')) return callOf('wait')
    return isFailing ? { status: 400, body: {} } : { text: 'B is 2.' }
  })
  const { client, model } = await startService(t, { script, config, tools: [gate.tool, fakeTool('look', async () => 1)] })
  const stream = await client.stream('cancel me', { 'session-id': 'c', 'request-id': 'c' })
  await gate.entered
  assert.equal((await client.request('DELETE', '/core/v1/runs/c')).body.status, 'cancelled')
  const events = await stream.rest()
  assert.deepEqual(
    { outputOf: outputOf(events), finish_reason: events.at(-1)?.chunk.finish_reason },
    { outputOf: 'A is 1.', finish_reason: 'cancelled' },
  )
  const [, answer] = (await client.session('c')).body.messages
  assert.deepEqual(answer.additional_context[0].items.map(({ content }: { content: string }) => content).slice(1), ['Look up A.\nA is 1.'])

  const ids = { 'session-id': 'f', 'request-id': 'f' }
  assert.equal((await client.chat('What are A and B?', ids)).status, 502)
  isFailing = false
  const before = model.requests.length
  assert.equal((await client.chat('What are A and B?', ids)).body.body.output, 'A is 1, B is 2.')
  assert.deepEqual(
    model.requests.slice(before).map((request) => lastUser(request).slice(0, 10)),
    ['Step 2 of ', 'Now answer'],
  )
})

test('after kill -9 in a step the run continues in that step, and finished steps are not repeated', async (t) => {
  const folder = await makeFolder(t)
  const silent = Promise.withResolvers<void>()
  let isSilent = true
  const model = await startModelServer((request) => {
    if (!isSilent || !last(request).startsWith('Step 2')) return plans(request)
    silent.resolve()
    return { silentAfter: 0 }
  })
  t.after(() => model.close())
  const primary = { provider: 'openai-compatible', model: 'scripted', base_url: model.url }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ ...config, llms: { primary }, tools: [{ name: 'current_time' }] }))
  const first = await serve(t, folder)
  const body = { messages: [{ role: 'user', content: 'What are A and B?' }], on_disconnect: 'continue' }
  const asked = first.client.chat(body, { 'session-id': 's', 'request-id': 'r' }).catch(() => undefined)
  await silent.promise
  first.child.kill('SIGKILL')
  await first.ended
  await asked
  isSilent = false
  const calls = model.requests.length
  const { client } = await serve(t, folder)
  const events = await (await client.follow('r')).rest()
  assert.deepEqual(
    { outputOf: outputOf(events), finish_reason: events.at(-1)?.chunk.finish_reason },
    { outputOf: 'A is 1, B is 2.', finish_reason: 'stop' },
  )
  assert.deepEqual(
    model.requests.slice(calls).map((request) => lastUser(request).slice(0, 10)),
    ['Step 2 of ', 'Now answer'],
  )
  assert.equal(labels(events).filter((line) => line.includes('Step 1 of 2')).length, 1)
  assert.equal(labels(events).filter((line) => line.includes('Step 2 of 2')).length, 1)
})

test('after kill -9 the run continues with its workflow, even if the configuration has changed', async (t) => {
  const folder = await makeFolder(t)
  const silent = Promise.withResolvers<void>()
  const model = await startModelServer((request) => {
    if (lastUser(request).includes('make a plan')) return { text: '["Write it.", "Say so."]' }
    if (request.body.messages.at(-1).role !== 'tool') return callOf('write_file', { file_name: 'a.txt', content: 'A' })
    silent.resolve()
    return model.requests.length === 2 ? { silentAfter: 0 } : { text: 'Written.' }
  })
  t.after(() => model.close())
  const primary = { provider: 'openai-compatible', model: 'scripted', base_url: model.url }
  const file = path.join(folder, 'agent.yaml')
  const common = { sub_agents: { may_create: false }, llms: { primary }, tools: [{ name: 'write_file' }] }
  await writeFile(file, JSON.stringify(common))
  const first = await serve(t, folder)
  const body = { messages: [{ role: 'user', content: 'Write A.' }], on_disconnect: 'continue' }
  const asked = first.client.chat(body, { 'request-id': 'r' }).catch(() => undefined)
  await silent.promise
  first.child.kill('SIGKILL')
  await first.ended
  await asked
  await writeFile(file, JSON.stringify({ ...common, workflow_type: 'plan_execute' }))
  const { client } = await serve(t, folder)
  const { body: answer } = (await client.chat(body, { 'request-id': 'r' })).body
  assert.equal(answer.output, 'Written.')
  assert.deepEqual(
    answer.intermediate_steps.map((step: { tool: string }) => step.tool),
    ['write_file'],
  )
})
