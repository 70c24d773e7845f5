import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

/** A model call costs 0.001 USD, and the first of a run leaves too little for another. */
const calling = { ...callOf('add', { a: 1 }), text: 'I add.', usage: { input: 100, output: 300 } }

async function traceOf(t: TestContext, budgets: object[] | undefined, script: object[] = [calling]) {
  const tools = [fakeTool('add', () => Promise.resolve({ sum: 3 }))]
  const service = await startService(t, {
    script,
    modelFields: { prices: { input: 1, output: 3 } },
    tools,
    config: { ...(budgets && { budgets }) },
  })
  await service.client.chat('Add 1 and 2.', { 'request-id': 'r1' })
  const { status, body } = await service.client.request('GET', '/core/v1/runs/r1/trace')
  assert.equal(status, 200)
  return { spans: body.spans as any[], kinds: body.spans.map(({ kind }: { kind: string }) => kind) }
}

test('the trace of a run shows what each attempt held and cost, and which budget refused a call', async (t) => {
  const { spans, kinds } = await traceOf(t, [{ name: 'each', scope: 'run', limit: { usd: 0.0015 } }])
  assert.deepEqual(kinds, ['run', 'turn', 'model', 'tool', 'budget', 'budget'])
  const [run, , model, , budget] = spans
  assert.equal(run.attributes.model_calls, 1)
  const [{ held, settled }] = model.attributes.attempts
  assert.deepEqual(settled, { usd: 0.001, tokens: 400 })
  assert.ok(held.usd > 0.001 && held.usd <= 0.0015 && held.tokens > 400, JSON.stringify(held))
  const { id, parent_id, name, status, started_at, ended_at } = budget
  assert.deepEqual(
    { id, parent_id, name, status, ended_at },
    { id: 'budget:1', parent_id: 'run', name: 'each', status: 'error', ended_at: started_at },
  )
  const { needed, ...attributes } = budget.attributes
  assert.deepEqual(attributes, {
    ...{ model: 'scripted', budget: 'each', scope: 'run' },
    ...{ limit: { usd: 0.0015 }, spent: { usd: 0.001 }, reserved: { usd: 0 } },
  })
  assert.ok(needed.usd > 0.0005)
})

test('the trace shows no amounts of the tenant, and nothing of budgets where there are none', async (t) => {
  const { spans } = await traceOf(t, [{ name: 'all', scope: 'tenant', window: 'month', limit: { usd: 0.0015 } }])
  const { attributes } = spans.find(({ kind }) => kind === 'budget')
  assert.deepEqual(Object.keys(attributes).sort(), ['budget', 'model', 'needed', 'resets_at', 'scope', 'window'])
  const plain = await traceOf(t, undefined, [{ text: ['Four.'], usage: { input: 1, output: 1 } }])
  assert.deepEqual(plain.kinds, ['run', 'turn', 'model'])
  const [attempt] = plain.spans[2].attributes.attempts
  assert.deepEqual(Object.keys(attempt).sort(), ['ended_at', 'model', 'started_at', 'status'])
})
