import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { ample, inputPrice, outputPrice, sameAsCounted, startCounted, until, windowOf, type Script } from '../fixtures/counted-budgets.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

/** Model calls beside the run's own calls: each moves what is spent, as the model server counted. */

test('a summary, a memory, an embedding, a sub-agent, sampling and a broken stream each move what is spent, as the server counted', async (t) => {
  let breaks = 0
  const script: Script = ({ body }) => {
    const last = body.messages.at(-1)
    if (last.content.endsWith('Break.') && ++breaks === 1) return { text: ['Half an answer'], finish: null, breakAfter: 2 }
    if (last.content.endsWith('Ask the server.')) return callOf('sampler')
    if (last.content.endsWith('Delegate.')) return { calls: [{ name: 'sub_agent_helper', arguments: '{"task":"Count."}' }] }
    return undefined
  }
  const sample: Parameters<typeof fakeTool>[1] = async (_, { sample, signal }) => {
    const reply = await sample!({ system: '', messages: [{ role: 'user', text: 'Say four.' }], maxOutputTokens: 300 }, signal)
    return reply.text
  }
  const sampler = fakeTool('sampler', sample, { schema: { type: 'object', properties: {} } })
  const service = await startCounted(t, [ample('caller', 'caller'), ample('tenant', 'tenant')], {
    script,
    tools: [sampler],
    config: { memory: { history_tokens: 500 } },
  })
  const { client, counts } = service
  let before = 0
  const moved = async (what: string) => {
    await sameAsCounted(service)
    assert.ok(counts.nanoUsd > before, what)
    before = counts.nanoUsd
  }
  await client.chat({ messages: [{ role: 'user', content: 'I like tea.' }], auto_memory_retain: true })
  await until(
    () => counts.memories > 0,
    () => counts,
  )
  await moved('memory')
  const created = await client.request('POST', '/core/v1/chain/sub_agents', {
    body: { name: 'helper', description: 'Helps.', objective: 'Help.' },
  })
  assert.equal(created.status, 200, created.text)
  const requests = service.server.requests.length
  await client.chat('Delegate.')
  assert.equal(service.server.requests.length - requests, 3, 'call, sub-agent, answer')
  await moved('sub-agent')
  await client.chat('Ask the server.')
  await moved('sampling')
  const vectors = await client.request('POST', '/v1/embeddings', { body: { model: 'vectors', input: ['leave', 'bikes'] } })
  assert.equal(vectors.status, 200, vectors.text)
  await moved('embedding')
  for (const text of ['a', 'b', 'c']) await client.chat(text.repeat(900), { 'session-id': 's' })
  await until(
    () => counts.summaries > 0,
    () => counts,
  )
  await moved('summary')
  await client.chat('Break.')
  assert.equal(breaks, 2)
  const { messages } = service.server.requests.at(-1)!.body
  const bytes = messages.reduce((sum: number, { content }: { content: string }) => sum + 24 + Buffer.byteLength(content), 0)
  const offered = service.server.requests
    .at(-1)!
    .body.tools.reduce(
      (sum: number, { function: { name, description, parameters } }: any) =>
        sum + 24 + name.length + Buffer.byteLength(description) + JSON.stringify(parameters).length,
      0,
    )
  const broken = Math.ceil((bytes + offered) / 2) * inputPrice + Math.ceil('Half an answer'.length / 2) * outputPrice
  await sameAsCounted(service, 'caller', broken)
  await sameAsCounted(service, 'tenant', broken)
})

test('summaries and memories have no roles, so that a budget of any role counts them, and not the chats of other roles', async (t) => {
  const match = { roles: ['unused'] }
  const service = await startCounted(t, [ample('caller', 'caller'), ample('unused', 'tenant', { match })], {
    config: { memory: { history_tokens: 500 } },
  })
  const { client, counts } = service
  await client.chat('Hello.')
  assert.equal(windowOf(service, 'unused').spent, 0)
  await client.chat({ messages: [{ role: 'user', content: 'I like tea.' }], auto_memory_retain: true })
  for (const text of ['a', 'b', 'c']) await client.chat(text.repeat(900), { 'session-id': 's' })
  await until(
    () => counts.memories > 0 && counts.summaries > 0,
    () => counts,
  )
  await sameAsCounted(service)
  const chats = 5 * (100 * inputPrice + 20 * outputPrice)
  assert.equal(windowOf(service, 'unused').spent, windowOf(service, 'caller').spent - chats)
})

test('a summary that no budget can pay is made without a model, and only once', async (t) => {
  const budgets = [ample('summaries', 'tenant', { limit: { usd: 0 }, match: { operations: ['summary'] } })]
  const service = await startCounted(t, budgets, { config: { memory: { history_tokens: 500 } } })
  for (const text of ['a', 'b', 'c']) await service.client.chat(text.repeat(900), { 'session-id': 's' })
  const waiting = () => service.log.filter((line) => line.includes('summary failed'))
  await until(
    () => waiting().length > 0,
    () => service.log.slice(-5),
  )
  assert.match(waiting()[0]!, /Budget summaries can never pay for this call/)
  const database = new DatabaseSync(`${service.settings.dataDir}/agent-core.db`, { readOnly: true })
  t.after(() => database.close())
  const summaryOf = () => String(database.prepare('select summary from sessions where session_id = ?').get('s')?.['summary'])
  await until(() => summaryOf().includes('- Assistant: Four.'), summaryOf)
  // The job goes after the window has moved.
  const jobs = () => database.prepare(`select count(*) as n from jobs where kind = 'summary'`).get()!['n']
  await until(() => jobs() === 0, jobs)
  assert.equal(service.counts.summaries, 0)
})

test('a memory that no budget can pay is learned later: its job stays, and chats go on', async (t) => {
  const service = await startCounted(t, [ample('memories', 'caller', { limit: { usd: 0 }, match: { operations: ['retain'] } })])
  const { client, counts } = service
  const reply = await client.chat({ messages: [{ role: 'user', content: 'I like tea.' }], auto_memory_retain: true })
  assert.equal(reply.status, 200)
  await until(
    () => service.log.some((line) => line.includes('it is learned later')),
    () => service.log.slice(-5),
  )
  const database = new DatabaseSync(`${service.settings.dataDir}/agent-core.db`, { readOnly: true })
  t.after(() => database.close())
  const jobs = () => database.prepare(`select due_at from jobs where kind = 'retain'`).all()
  await until(() => Number(jobs()[0]?.['due_at']) > Date.now() + 60_000, jobs)
  assert.deepEqual([counts.memories, jobs().length], [0, 1])
})

test('embeddings of a caller whose budget is used up are refused, and the provider is not asked', async (t) => {
  const { client, counts, as } = await startCounted(t, [ample('caller', 'caller', { limit: { usd: 0.00002 } })])
  const embed = (who: typeof client) => who.request('POST', '/v1/embeddings', { body: { model: 'vectors', input: ['leave', 'bikes'] } })
  assert.equal((await embed(client)).status, 200)
  const refused = await embed(client)
  assert.deepEqual([refused.status, counts.vectors, refused.headers.get('x-should-retry')], [429, 1, 'false'], refused.text)
  assert.deepEqual([refused.body.error.type, refused.body.error.code], ['insufficient_quota', 'budget_exceeded'])
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  assert.equal((await embed(await as({ sub: 'bob' }))).status, 200)
})
