import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ample, startCounted, until, type Script } from '../fixtures/counted-budgets.ts'
import { startModelServer } from '../fixtures/model-server.ts'
import { startService } from '../fixtures/service.ts'

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
