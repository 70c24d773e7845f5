import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { doors } from '../doors/doors.ts'
import { event, sendEvent } from '../fixtures/async-client.ts'
import { ample, sameAsCounted, startCounted, until, windowOf, type Script } from '../fixtures/counted-budgets.ts'
import { startModelServer } from '../fixtures/model-server.ts'
import { startService, type TestService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

/** Requests that try to spend more than a limit, or to make budgets unusable for others. */

const completion = (body: object) => ({ body: { model: 'agent-core', messages: [{ role: 'user', content: 'Think.' }], ...body } })

test('reasoning that a package adds to the length of an answer is paid for before the call', async (t) => {
  const claude = await startModelServer({ status: 400, body: {} })
  t.after(() => claude.close())
  const prices = { input: 3, output: 15 }
  const primary = { provider: 'anthropic', model: 'claude-sonnet-4-5', base_url: claude.url, api_key: 'k', prices }
  const start = (usd: number) => startService(t, { config: { llms: { primary }, budgets: [ample('day', 'caller', { limit: { usd } })] } })
  const most = (body: any): number => (body.max_tokens * prices.output) / 1_000_000

  for (const usd of [0.1, 2]) {
    const { client } = await start(usd)
    claude.requests.length = 0
    for (const reasoning_effort of ['high', 'xhigh', 'minimal']) {
      await client.request('POST', '/v1/chat/completions', completion({ max_tokens: 300, reasoning_effort }))
    }
    assert.deepEqual(
      claude.requests.map(({ body }) => [body.max_tokens, body.thinking.budget_tokens]),
      usd > 1
        ? [
            [38_700, 38_400],
            [57_900, 57_600],
            [1580, 1280],
          ]
        : [[1580, 1280]],
    )
    for (const { body } of claude.requests) assert.ok(most(body) <= usd)
  }
})

test('no length that a caller wishes holds the budget of all others', async (t) => {
  const all = { name: 'all', scope: 'service', window: 'month', limit: { usd: 1 } }
  const slow: Script = ({ body }) => (body.max_tokens > 10_000 ? { text: ['Half of', ' it'], silentAfter: 2, breakAfter: 9 } : undefined)
  const service = await startCounted(t, [all], { script: slow })
  const wish = completion({ max_tokens: Number.MAX_SAFE_INTEGER, stream: true })
  const asking = service.client.request('POST', '/v1/chat/completions', wish).catch(() => undefined)
  await until(
    () => service.server.requests.length === 1,
    () => service.server.requests.length,
  )
  assert.equal(service.server.requests[0]!.body.max_tokens, 131_072)
  const beta = await service.as({ sub: 'bob', tenant: 'beta' })
  const reply = await beta.chat('2 + 2?')
  assert.equal(reply.status, 200, reply.text)
  await service.close(0)
  await asking
})

test('no length that a caller wishes makes a window of a free model unreadable', async (t) => {
  const all = { name: 'all', scope: 'service', window: 'month', limit: { usd: 1 } }
  const service = await startCounted(t, [all], { primary: { prices: { input: 0, output: 0 } } })
  const reply = await service.client.request('POST', '/v1/chat/completions', completion({ max_tokens: Number.MAX_SAFE_INTEGER }))
  assert.equal(reply.status, 200, reply.text)
})

/** A service whose agent calls the tools that a question names: `look`, one that asks the model, and a sub-agent of each of the callers. */
async function startWithTools(
  t: TestContext,
  budgets: object[],
  options: Parameters<typeof startCounted>[2] & { subs: string[]; usageOf?: UsageOf },
) {
  const { subs, usageOf, ...more } = options
  const script: Script = ({ body }) => {
    const last = body.messages.at(-1)
    const asks = (text: string) => last.role === 'user' && String(last.content).endsWith(text)
    const usage = usageOf && { usage: usageOf(body) }
    if (asks('Delegate.')) return { calls: [{ name: 'sub_agent_helper', arguments: '{"task":"Look."}' }], ...usage }
    if (asks('Look.')) return { ...callOf('look'), ...usage }
    return asks('Ask the server.') ? { ...callOf('sampler'), ...usage } : { text: 'Yes.', ...usage }
  }
  const sampler = fakeTool('sampler', async (_, { sample, signal }) => {
    const reply = await sample!({ system: '', messages: [{ role: 'user', text: 'Say four.' }], maxOutputTokens: 5000 }, signal)
    return reply.text
  })
  const service = await startCounted(t, budgets, { script, tools: [sampler, fakeTool('look', async () => 1)], ...more })
  for (const sub of subs) {
    const body = { name: 'helper', description: 'Helps.', objective: 'Help.' }
    const made = await (await service.as({ sub })).request('POST', '/core/v1/chain/sub_agents', { body })
    assert.equal(made.status, 200, made.text)
  }
  return service
}

type UsageOf = (body: any) => { input: number; output: number }

/** Asks each question through each door, one after the other or all at once. */
async function visit(
  service: TestService,
  sub: string,
  questions: readonly string[],
  onDoor?: (door: string) => Promise<void>,
): Promise<void> {
  const { key } = await service.key({ sub })
  const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const sent = { 'x-service-access': key, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers }
    return (await fetch(service.url + path, { method, headers: sent, ...(body !== undefined && { body: JSON.stringify(body) }) })).text()
  }
  const asked = Object.entries(doors).map(([name, door]) => async () => {
    const each = questions.map((question) => door({ send, scenario: { turns: [] }, question, id: `${sub}-${name}-${question.length}` }))
    await Promise.all(each)
    await onDoor?.(name)
  })
  if (onDoor) for (const ask of asked) await ask()
  else await Promise.allSettled(asked.map((ask) => ask()))
}

const png = `data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==`

/** Requests of many kinds at once, each of which would like to spend more than there is. */
async function attack(service: TestService, sub: string): Promise<void> {
  const client = await service.as({ sub })
  const post = (path: string, body: object) => client.request('POST', path, { body })
  const complete = (more: object) => post('/v1/chat/completions', completion(more).body)
  const image = [
    { type: 'text', text: 'See.' },
    { type: 'image_url', image_url: { url: png } },
  ]
  const leave = async () => {
    const stream = await client.stream('Look.', { 'request-id': `${sub}-left` })
    await stream.next()
    stream.leave()
  }
  await Promise.allSettled([
    visit(service, sub, ['Look.', 'Answer.', 'Ask the server.']),
    ...[1, 255, 300, 100_000, Number.MAX_SAFE_INTEGER].map((max_tokens) => complete({ max_tokens })),
    ...Array.from({ length: 5 }, () => client.chat('Look.', { 'request-id': `${sub}-same` })),
    ...Array.from({ length: 4 }, () => client.chat({ messages: [{ role: 'user', content: 'Delegate.' }], auto_memory_retain: true })),
    ...['a', 'b', 'c'].map((text) => client.chat(text.repeat(900), { 'session-id': `${sub}-long` })),
    complete({ messages: [{ role: 'user', content: image }] }),
    post('/v1/responses', { model: 'agent-core', input: 'Look.', store: false }),
    post('/v1/responses', { model: 'agent-core', input: 'Look.', background: true }),
    post('/v1/embeddings', { model: 'vectors', input: Array.from({ length: 50 }, (_, n) => `A text of some length, ${n}`) }),
    post('/core/v1/tool/execute', { tool_name: 'sampler', tool_input: {} }),
    sendEvent(client, event(`${sub}-event`, { messages: [{ role: 'user', content: 'Look.' }] })),
    client.chat('Look.', { 'request-id': `${sub}-cancelled` }),
    client.request('DELETE', `/core/v1/runs/${sub}-cancelled`),
    leave(),
  ])
}

test('nothing that callers send at once spends more than the limit of their tenant, or of each of the callers', async (t) => {
  const limits = { tenant: 0.2, caller: 0.12 }
  const subs = ['ann', 'bob']
  const budgets = [
    ample('tenant', 'tenant', { limit: { usd: limits.tenant } }),
    ample('caller', 'caller', { limit: { usd: limits.caller } }),
  ]
  const service = await startWithTools(t, budgets, {
    subs,
    // Each answer is as long as its request allows.
    usageOf: (body) => ({ input: 10, output: body.max_completion_tokens ?? body.max_tokens }),
    config: { memory: { history_tokens: 500 } },
    primary: { max_output_tokens: 1000 },
  })
  const state = () => windowOf(service, 'tenant')
  let most = 0
  const sampling = setInterval(() => (most = Math.max(most, state().spent + state().reserved)), 10)
  for (let round = 0; round < 2; round++) await Promise.all(subs.map((sub) => attack(service, sub)))
  await until(() => state().reserved === 0, state)
  clearInterval(sampling)
  const { spent } = state()
  const counted = service.counts.nanoUsd
  t.diagnostic(`${service.server.requests.length} model calls, ${spent} spent, ${counted} counted, at most ${most} committed`)
  assert.ok(Math.max(most, spent, counted) <= limits.tenant * 1e9, `${most} ${spent} ${counted}`)
  for (const sub of subs) {
    const caller = await service.as({ sub })
    const { body } = await caller.request('GET', '/core/v1/budgets?name=caller')
    assert.ok(body.budgets[0].spent.usd <= limits.caller, JSON.stringify(body))
    assert.equal((await caller.chat('Answer.')).status, 429)
  }
})

test('through each door every model call is paid as the server counted: of tools, sub-agents, sampling, forks and unstored runs', async (t) => {
  const service = await startWithTools(t, [ample('caller', 'caller'), ample('tenant', 'tenant')], { subs: ['ann'] })
  const { client, counts } = service
  let before = 0
  await visit(service, 'ann', ['Look.', 'Delegate.', 'Ask the server.'], async (door) => {
    assert.ok(counts.nanoUsd > before, door)
    before = counts.nanoUsd
    await sameAsCounted(service)
  })
  await client.chat('Look.', { 'session-id': 'first' })
  const fork = await client.request('POST', '/core/v1/sessions/first/fork', { body: { message_index: 1 } })
  assert.equal(fork.status, 200, fork.text)
  await client.chat('Look.', { 'session-id': fork.body.session_id })
  await client.request('POST', '/v1/responses', { body: { model: 'agent-core', input: 'Look.', store: false } })
  assert.ok(counts.nanoUsd > before)
  await sameAsCounted(service)
  await sameAsCounted(service, 'tenant')
})
