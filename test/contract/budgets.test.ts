import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { startService, type ServiceOptions } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

/** A model of 1 USD for a million tokens of input, and 3 of output: an answer of 300 tokens after 100 costs 0.001 USD. */
const modelFields = { prices: { input: 1, output: 3 } }
const dollar = { text: ['Four.'], usage: { input: 100, output: 300 } }
const daily = { name: 'caller-day', scope: 'caller', window: 'day', limit: { usd: 0.0026 } }

function start(t: TestContext, budgets: object[], { config, ...options }: ServiceOptions = {}) {
  return startService(t, { script: dollar, modelFields, ...options, config: { budgets, ...config } })
}

test('a budget pays until it is used up, with shorter answers at its end, and then refuses new runs', async (t) => {
  const { client, model } = await start(t, [daily])
  assert.equal((await client.chat('2 + 2?', { 'request-id': 'r1' })).status, 200)
  assert.equal((await client.chat('2 + 2?')).status, 200)
  const refused = await client.chat('2 + 2?', { 'request-id': 'r3' })
  assert.equal(refused.status, 429, refused.text)
  const { error_type, budget, scope, window, limit, spent, reserved, resets_at } = refused.body.details
  assert.deepEqual(
    { error_type, budget, scope, window, limit, spent, reserved },
    {
      error_type: 'BudgetExceeded',
      budget: 'caller-day',
      scope: 'caller',
      window: 'day',
      limit: { usd: 0.0026 },
      spent: { usd: 0.002 },
      reserved: { usd: 0 },
    },
  )
  const seconds = Number(refused.headers.get('retry-after'))
  assert.ok(Math.abs(Date.parse(resets_at) - Date.now() - seconds * 1000) < 5000)
  assert.equal(refused.headers.get('x-should-retry'), 'false')
  const [first, second] = model.requests.map(({ body }) => body.max_completion_tokens ?? body.max_tokens)
  assert.ok(first < 866 && second < 533 && second >= 256, `${first} ${second}`)
  assert.equal((await client.run('r3')).status, 404)
  const repeat = await client.chat('2 + 2?', { 'request-id': 'r1' })
  assert.deepEqual([repeat.status, repeat.body.body.output, model.requests.length], [200, 'Four.', 2])
})

test('a budget that is used up within a run ends it with its best answer', async (t) => {
  const add = fakeTool('add', () => Promise.resolve({ sum: 3 }))
  const budgets = [{ name: 'run', scope: 'run', limit: { usd: 0.0015 } }]
  const calling = { ...callOf('add', { a: 1 }), text: 'I add.', usage: { input: 100, output: 300 } }
  const { client, model } = await start(t, budgets, { tools: [add], script: [calling] })
  const reply = await client.chat('Add 1 and 2.')
  const { output, intermediate_steps: steps } = reply.body.body
  assert.deepEqual([reply.status, output, steps[0].output, model.requests.length], [200, 'I add.', { sum: 3 }, 1])
  const stream = await client.stream('Add 1 and 2.')
  const events = await stream.rest()
  assert.equal(events.at(-1)?.chunk.finish_reason, 'budget_exceeded')
})

test('a run whose first call nobody can pay, and that has no text, fails with the budget', async (t) => {
  const calling = { ...callOf('add', { a: 1 }), usage: { input: 100, output: 300 } }
  const budgets = [{ name: 'run', scope: 'run', limit: { usd: 0.0015 } }]
  const { client } = await start(t, budgets, { tools: [fakeTool('add', () => Promise.resolve({ sum: 3 }))], script: [calling, dollar] })
  const reply = await client.chat('Add 1 and 2.')
  assert.deepEqual([reply.status, reply.body.details.error_type, reply.body.details.budget], [429, 'BudgetExceeded', 'run'])
  assert.equal(reply.headers.get('x-should-retry'), 'false')
})
