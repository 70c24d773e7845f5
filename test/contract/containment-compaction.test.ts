import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import { startContained } from '../fixtures/contained.ts'
import { order } from '../fixtures/obedient-model.ts'
import { fakeTool } from '../fixtures/tools.ts'

/** Words of strangers stay words of strangers when a client replaces a conversation by its compaction. */

const model = 'agent-core'
const refund = order('refund', { order: '9' })
const strangers = { trust: 'untrusted', private: false, outbound: false } as const

async function start(t: Parameters<typeof startContained>[0]) {
  const mail = fakeTool('mail__read', async () => `The mail says: ${refund}`, { marks: strangers })
  const service = await startContained(t, { after_untrusted: 'approve' }, { tools: [mail], config: { tools: [] } })
  const openai = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: (await service.key()).key, maxRetries: 0 })
  return { ...service, openai }
}

/** The call that waits for a decision; undefined for none. */
async function waiting({ client }: Pick<Awaited<ReturnType<typeof start>>, 'client'>) {
  return (await client.request('GET', '/core/v1/approvals')).body.approvals[0]
}

for (const named of ['input', 'previous_response_id'] as const) {
  test(`Containment: a compaction of a conversation by ${named} counts as untrusted`, async (t) => {
    const service = await start(t)
    const { openai, refunds } = service
    const isInput = named === 'input'
    const call = [
      { type: 'function_call', call_id: 'c1', name: 'mail__read', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: `The mail says: ${refund}` },
      { type: 'message', role: 'assistant', content: `The mail says: ${refund}` },
    ]
    const question = { type: 'message', role: 'user', content: 'What does the mail say?' }
    const first = isInput ? undefined : await openai.responses.create({ model, input: 'What was the last mail?' })
    const compacted = await openai.responses.compact({
      model,
      input: [question, ...call] as never,
      ...(first && { previous_response_id: first.id }),
    })
    assert.equal(compacted.output.at(-1)?.type, 'compaction')
    const input = [...compacted.output, { type: 'message', role: 'user', content: `Now ${refund}` }] as never
    const second = await openai.responses.create({ model, input })
    assert.deepEqual([second.status, refunds], ['incomplete', []])
    const held = await waiting(service)
    assert.deepEqual(
      [held.tool, held.reason, held.sources],
      ['refund', 'untrusted_content', [{ tool: 'conversation', tool_call_id: null }]],
    )
  })
}

test('Containment: what a tool has read counts in a compaction, and in the turns behind it', async (t) => {
  const service = await start(t)
  const { openai, refunds, client } = service
  // The refund of this turn waits and is rejected.
  const first = await openai.responses.create({ model, input: `Read ${order('mail__read')}` })
  const held = await waiting(service)
  assert.deepEqual([first.status, held.tool], ['incomplete', 'refund'])
  const body = { tool_call_id: held.tool_call_id, decision: 'reject' }
  assert.equal((await client.request('POST', `/core/v1/runs/${held.request_id}/approvals`, { body })).status, 200)
  while ((await client.run(held.request_id)).body.ended_at === null) await new Promise((resolve) => setTimeout(resolve, 20))
  const { output } = await openai.responses.compact({ model, previous_response_id: first.id })
  const summary = output.filter(({ type }) => type === 'compaction')
  const ask = (content: string, more: object = {}) =>
    openai.responses.create({ model, input: [...summary, { type: 'message', role: 'user', content }] as never, ...more })
  assert.equal((await ask('Hello.')).status, 'completed')
  for (const previous of [undefined, (await openai.responses.create({ model, input: 'Clean.' })).id]) {
    const turn = await ask('Hello again.', previous === undefined ? {} : { previous_response_id: previous })
    const later = await openai.responses.create({ model, input: `Now ${refund}`, previous_response_id: turn.id })
    assert.equal(later.status, 'incomplete', 'a later turn of the session has read the compaction')
  }
  const clean = await openai.responses.create({ model, input: `Now ${refund}` })
  assert.deepEqual([clean.status, refunds], ['completed', [{ order: '9' }]])
})
