import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import OpenAI from 'openai'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { startService, type ServiceOptions } from '../fixtures/service.ts'
import { fakeTool } from '../fixtures/tools.ts'

const model = 'agent-core'

/** What the model was shown, without the instructions. */
function shownTo({ body }: ModelServerRequest): { role: string; content: unknown; tool_calls?: { id: string }[]; tool_call_id?: string }[] {
  return body.messages.filter(({ role }: { role: string }) => role !== 'system')
}

function script(request: ModelServerRequest) {
  const { role, content } = shownTo(request).at(-1)!
  if (role === 'tool') return { text: `Found ${String(content)}` }
  return String(content).startsWith('look') ? { calls: [{ name: 'look', arguments: ['{}'] }] } : { text: `Re: ${JSON.stringify(content)}` }
}

async function start(t: TestContext, options: ServiceOptions = {}) {
  const service = await startService(t, {
    script,
    tools: [fakeTool('look', async () => 'the vault')],
    ...options,
  })
  const clientOf = async (who?: object) => new OpenAI({ baseURL: `${service.url}/v1`, apiKey: (await service.key(who)).key, maxRetries: 0 })
  const openai = await clientOf()
  const { id: conversation } = await openai.conversations.create({ metadata: { topic: 'a' } })
  const ask = (input: string) => openai.responses.create({ model, conversation, input })
  const items = async () => (await openai.conversations.items.list(conversation, { order: 'asc', limit: 100 })).data as any[]
  const remove = (item: string, client = openai) => client.conversations.items.delete(item, { conversation_id: conversation })
  const sessionId = conversation.slice('conv_'.length)
  return { service, openai, clientOf, conversation, ask, items, remove, sessionId }
}

const statusOf = (reply: Promise<unknown>) => reply.then(() => 200).catch(({ status }) => status)

test('a deleted item is in no list, and the others keep their ids', async (t) => {
  const { openai, service, conversation, ask, items, remove, sessionId } = await start(t)
  const first = await ask('tell me of the zebra')
  const second = await ask('and then?')
  const before = await items()
  const answer = await remove(before[0].id)
  assert.deepEqual([answer.id, answer.object, answer.metadata], [conversation, 'conversation', { topic: 'a' }])
  assert.deepEqual(await items(), before.slice(1))
  assert.deepEqual((await openai.conversations.items.retrieve(before[2].id, { conversation_id: conversation })).id, before[2].id)
  assert.equal(await statusOf(remove(before[0].id)), 404)
  assert.equal(await statusOf(openai.conversations.items.retrieve(before[0].id, { conversation_id: conversation })), 404)
  assert.equal(await statusOf(openai.responses.retrieve(first.id)), 404, 'the response is removed with its question')
  const { body: session } = await service.client.request('GET', `/core/v1/sessions/${sessionId}`)
  assert.deepEqual(
    session.messages.map(({ message_index: index }: any) => index),
    [1, 2, 3],
  )
  assert.equal(session.short_name, 'and then?')
  const page = await openai.conversations.items.list(conversation, { order: 'asc', after: before[1].id })
  assert.deepEqual(
    page.data.map(({ id }) => id),
    [before[2].id, before[3].id],
  )
  const { body: found } = await service.client.request('GET', '/core/v1/sessions?q=zebra')
  assert.equal(found.count, 1, 'the answer repeats the word')
  await remove(before[1].id)
  assert.equal((await service.client.request('GET', '/core/v1/sessions?q=zebra')).body.count, 0)
  const { key } = await service.key()
  const state = await fetch(`${service.url}/langgraph/threads/${sessionId}/state`, { headers: { 'x-api-key': key } })
  assert.deepEqual(
    ((await state.json()) as any).values.messages.map(({ id, content }: any) => [id.split(':')[0], content]),
    [
      ['human', 'and then?'],
      [state.ok ? second.id.slice('resp_'.length) : '', 'Re: "and then?"'],
    ],
  )
})

test('a model reads no deleted message, and no tool call without its output', async (t) => {
  const { service, ask, items, remove } = await start(t)
  await ask('look at it')
  await ask('two')
  await ask('three')
  const lastShown = async () => {
    await ask('next')
    const shown = shownTo(service.model.requests.at(-1)!)
    const calls = shown.flatMap(({ tool_calls: all = [] }) => all.map(({ id }) => id))
    const outputs = shown.flatMap(({ tool_call_id: id }) => id ?? [])
    assert.deepEqual(outputs, calls, 'each call has its output')
    return shown.map(({ role, content }) => `${role} ${String(content)}`)
  }
  const all = await items()
  await remove(all[0].id)
  assert.deepEqual((await lastShown()).slice(0, 4), [
    'user (This message was deleted.)',
    'assistant null',
    'tool the vault',
    'assistant Found the vault',
  ])
  await remove(all[1].id)
  const shown = await lastShown()
  assert.equal(shown[0], 'user two')
  assert.ok(shown.every((text) => !text.includes('vault') && !text.includes('look')))
  await remove(all[3].id)
  assert.deepEqual((await lastShown()).slice(0, 3), ['user two', 'user three', 'assistant Re: "three"'])
})

test('a response in progress keeps its conversation: 409, and nothing is deleted', async (t) => {
  const gate = Promise.withResolvers<void>()
  const { ask, items, remove, service } = await start(t, {
    script: (request) => (shownTo(request).length > 1 ? { begins: gate.promise, text: 'late' } : { text: 'first' }),
  })
  await ask('one')
  const running = ask('two')
  while (service.model.requests.length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
  const [item] = await items()
  const error = await remove(item.id).catch((refused: unknown) => refused)
  assert.ok(error instanceof OpenAI.APIError)
  assert.equal(error.status, 409)
  gate.resolve()
  await running
  assert.equal((await items()).length, 4)
  await remove(item.id)
  assert.equal((await items()).length, 3)
})

test('items are deleted by the owner with sessions.write alone, and other ids are 404', async (t) => {
  const { clientOf, ask, items, remove, sessionId } = await start(t)
  await ask('mine')
  const [item] = await items()
  for (const [who, status] of [
    [{ sub: 'bob' }, 404],
    [{ sub: 'bob', roles: ['admin'] }, 404],
    [{ tenant: 'other' }, 404],
    [{ tenant: 'other', roles: ['admin'] }, 404],
    [{ roles: ['viewer'] }, 403],
  ] as const)
    assert.equal(await statusOf(remove(item.id, await clientOf(who))), status, JSON.stringify(who))
  for (const id of [
    'x',
    `msg_${sessionId}~2`,
    `msg_${sessionId}~00`,
    `msg_${sessionId}~-1`,
    `msg_${sessionId}~1e0`,
    `msg_${sessionId}~999999999999`,
    'msg_other~0',
  ])
    assert.equal(await statusOf(remove(id)), 404, id)
  assert.equal((await items()).length, 2)
  const removals = await Promise.all(Array.from({ length: 5 }, () => statusOf(remove(item.id))))
  assert.deepEqual(
    removals.toSorted((a, b) => a - b),
    [200, 404, 404, 404, 404],
  )
})

test('a repeat of a request whose answer was deleted is 410, and the conversation goes on', async (t) => {
  const { openai, service, conversation, items, remove, ask } = await start(t)
  const repeat = () =>
    service.client.request('POST', '/v1/responses', { headers: { 'request-id': 'again' }, body: { model, conversation, input: 'once' } })
  assert.equal((await repeat()).status, 200)
  const [, answer] = await items()
  await remove(answer.id)
  assert.equal((await repeat()).status, 410)
  const { output_text: text } = await ask('on')
  assert.equal(text, 'Re: "on"')
  assert.equal((await items()).length, 3)
  await openai.conversations.delete(conversation)
  assert.equal(await statusOf(remove(answer.id)), 404)
})

test('a compaction of a response with an image is the input of the next response', async (t) => {
  const { openai } = await start(t, { script: () => ({ text: 'ok' }) })
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const content = [
    { type: 'input_text', text: 'see' },
    { type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${png}` },
  ]
  const { id } = await openai.responses.create({ model, input: [{ role: 'user', content }] as never })
  const { output } = await openai.responses.compact({ model, previous_response_id: id })
  const next = await openai.responses.create({ model, input: [...output, { role: 'user', content: 'on' }] as never })
  assert.equal(next.status, 'completed')
})
