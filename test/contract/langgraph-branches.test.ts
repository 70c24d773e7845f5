import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client, type Checkpoint, type Message, type ThreadState } from '@langchain/langgraph-sdk'
import { sending, sendTo } from '../fixtures/approvals.ts'
import { startService, type ServiceOptions } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

/** Runs from an earlier checkpoint, as pages send them to edit a question and to ask again. */

interface Values {
  messages: Message[]
}

type State = ThreadState<Values>

async function start(t: { after(work: () => unknown): void }, options: ServiceOptions) {
  const service = await startService(t, options)
  const { key } = await service.key()
  return { service, client: new Client({ apiUrl: `${service.url}/langgraph`, apiKey: key, callerOptions: { maxRetries: 0 } }) }
}

const human = (content: string) => ({ messages: [{ type: 'human' as const, content }] })
const shape = ({ messages }: Values) => messages.map(({ type, content }) => `${type}: ${String(content)}`)

/** The checkpoint before a message was first seen, as `getMessagesMetadata` of `useStream` finds it. */
function parentOf(history: readonly State[], text: string): Checkpoint {
  const first = history.findLast(({ values }) => values.messages.some(({ content }) => content === text))!
  return first.parent_checkpoint!
}

test('LangGraph: an edited question and a regenerated answer are branches of the thread', async (t) => {
  const script = ['One.', 'Two.', 'Two, edited.', 'Two, again.', 'Three.'].map((text) => ({ text }))
  const { client, service } = await start(t, { script })
  const { thread_id: threadId } = await client.threads.create({ metadata: { topic: 'numbers' } })
  const ask = async (input: object | undefined, checkpoint?: Checkpoint) =>
    (await client.runs.wait(threadId, 'agent', { input: input as never, ...(checkpoint && { checkpoint }) })) as unknown as Values
  await ask(human('1?'))
  await ask(human('2?'))
  const before = await client.threads.getHistory<Values>(threadId)

  const edited = await ask(human('2, please?'), parentOf(before, '2?'))
  assert.deepEqual(shape(edited), ['human: 1?', 'ai: One.', 'human: 2, please?', 'ai: Two, edited.'])
  const asked = service.model.requests.at(-1)!.body.messages.map(({ content }: { content: string }) => content)
  assert.deepEqual(asked.slice(-3), ['1?', 'One.', '2, please?'])
  const regenerated = await ask(undefined, parentOf(await client.threads.getHistory<Values>(threadId), 'Two, edited.'))
  assert.deepEqual(shape(regenerated), ['human: 1?', 'ai: One.', 'human: 2, please?', 'ai: Two, again.'])

  // The thread goes on in its last branch, and its history has all of them, as a tree.
  const state = await client.threads.getState<Values>(threadId)
  assert.deepEqual(shape(state.values), shape(regenerated))
  const history = await client.threads.getHistory<Values>(threadId, { limit: 100 })
  assert.deepEqual(history[0], state)
  const ids = history.map(({ checkpoint }) => checkpoint.checkpoint_id)
  assert.equal(new Set(ids).size, ids.length)
  const heads = history.filter(({ checkpoint: { checkpoint_id: id } }) =>
    history.every((other) => other.parent_checkpoint?.checkpoint_id !== id),
  )
  assert.deepEqual(
    heads.map(({ values }) => values.messages.at(-1)!.content),
    ['Two, again.', 'Two, edited.', 'Two.'],
  )
  for (const { parent_checkpoint: parent, values } of history)
    assert.equal(parent === null, values.messages.length === 0, 'every state but the first has its parent')

  // The end of an earlier branch goes on there.
  const back = await ask(human('3?'), before[0]!.checkpoint)
  assert.deepEqual(shape(back), ['human: 1?', 'ai: One.', 'human: 2?', 'ai: Two.', 'human: 3?', 'ai: Three.'])
  assert.deepEqual(shape((await client.threads.getState<Values>(threadId)).values), shape(back))

  // The branches are one thread in every list.
  const found = await client.threads.search({ metadata: { topic: 'numbers' } })
  assert.deepEqual([found.length, found[0]!.thread_id, shape(found[0]!.values as unknown as Values)], [1, threadId, shape(back)])
  assert.equal(await client.threads.count(), 1)
  const runs = await client.runs.list(threadId)
  assert.deepEqual([runs.length, new Set(runs.map(({ thread_id: id }) => id))], [5, new Set([threadId])])
  for (const run of runs) assert.equal((await client.runs.get(threadId, run.run_id)).status, 'success')
  await client.threads.delete(threadId)
  assert.deepEqual((await service.client.request('GET', '/core/v1/sessions')).body.sessions, [])
})

test('LangGraph: the first question is edited, and a failed question is asked again', async (t) => {
  const { client } = await start(t, { script: [{ text: 'One.' }, { status: 400, body: {} }, { text: 'Two.' }] })
  const { thread_id: threadId } = await client.threads.create()
  await client.runs.wait(threadId, 'agent', { input: human('1?') })
  const first = parentOf(await client.threads.getHistory<Values>(threadId), '1?')
  await assert.rejects(client.runs.wait(threadId, 'agent', { input: human('2?'), checkpoint: first }), /ModelUnavailable/)
  const { checkpoint, values } = await client.threads.getState<Values>(threadId)
  assert.deepEqual(shape(values), ['human: 2?'])
  const again = (await client.runs.wait(threadId, 'agent', { input: null, checkpoint })) as unknown as Values
  assert.deepEqual(shape(again), ['human: 2?', 'ai: Two.'])
  // A checkpoint without a question has nothing to ask again.
  await assert.rejects(client.runs.wait(threadId, 'agent', { input: null, checkpoint: first }), { status: 422 })
})

test('LangGraph: a request that cannot start leaves no branch', async (t) => {
  const { client, service } = await start(t, { script: [{ text: 'One.' }] })
  const { thread_id: threadId } = await client.threads.create()
  await client.runs.wait(threadId, 'agent', { input: human('1?') })
  const history = await client.threads.getHistory<Values>(threadId)
  const checkpoint = parentOf(history, '1?')
  await assert.rejects(client.runs.wait(threadId, 'agent', { input: human('x'.repeat(200_001)), checkpoint }), { status: 413 })
  await assert.rejects(
    client.runs.wait(threadId, 'agent', { input: { messages: [{ type: 'ghost' as 'human', content: 'x' }] }, checkpoint }),
    { status: 422 },
  )
  assert.deepEqual(await client.threads.getHistory<Values>(threadId), history)
  assert.equal((await service.client.request('GET', '/core/v1/sessions')).body.sessions.length, 1)
})

test('LangGraph: a run that waits ends when the thread is branched, and a run that goes on is not left behind', async (t) => {
  const { sent, tool } = sending()
  const begun = Promise.withResolvers<void>()
  const stuck = fakeTool('stuck', (_, { signal }) => {
    begun.resolve()
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
  })
  const { client } = await start(t, { script: [sendTo('Bob'), { text: 'Nobody.' }, callOf('stuck')], tools: [tool, stuck] })
  const { thread_id: threadId } = await client.threads.create()
  await client.runs.wait(threadId, 'agent', { input: human('Write to Bob.') })
  assert.equal((await client.threads.get(threadId)).status, 'interrupted')
  const history = await client.threads.getHistory<Values>(threadId)
  const checkpoint = parentOf(history, 'Write to Bob.')
  await client.runs.wait(threadId, 'agent', { input: human('Write to nobody.'), checkpoint })
  assert.deepEqual([(await client.threads.get(threadId)).status, sent], ['idle', []])
  assert.deepEqual(
    (await client.runs.list(threadId)).map(({ status }) => status),
    ['success', 'interrupted'],
  )
  await client.runs.create(threadId, 'agent', { input: human('Begin') })
  await begun.promise
  await assert.rejects(client.runs.wait(threadId, 'agent', { input: human('Instead'), checkpoint }), { status: 409 })
  await client.runs.cancelMany({ threadId, status: 'all' })
  assert.equal((await client.threads.get(threadId)).status, 'idle')
})

test('LangGraph: two edits at once are two branches', async (t) => {
  const { client } = await start(t, { script: ['One.', 'Two.', 'Three.'].map((text) => ({ text })) })
  const { thread_id: threadId } = await client.threads.create()
  await client.runs.wait(threadId, 'agent', { input: human('1?') })
  const checkpoint = parentOf(await client.threads.getHistory<Values>(threadId), '1?')
  await Promise.allSettled(['2?', '3?'].map((text) => client.runs.wait(threadId, 'agent', { input: human(text), checkpoint })))
  const questions = (await client.threads.getHistory<Values>(threadId, { limit: 100 })).flatMap(({ values }) => shape(values).slice(0, 1))
  assert.ok(questions.includes('human: 1?'))
  assert.ok(questions.includes('human: 2?') || questions.includes('human: 3?'))
})

test('LangGraph: a repeated request id is answered by the run of the first request, also in a branch', async (t) => {
  const { client, service } = await start(t, { script: ['One.', 'Two.', 'Three.'].map((text) => ({ text })) })
  const { thread_id: threadId } = await client.threads.create()
  await client.runs.wait(threadId, 'agent', { input: human('1?') })
  const checkpoint = parentOf(await client.threads.getHistory<Values>(threadId), '1?')
  const ask = async () => {
    const body = { assistant_id: 'agent', input: human('2?'), checkpoint }
    const reply = await service.client.request('POST', `/langgraph/threads/${threadId}/runs/wait`, {
      body,
      headers: { 'request-id': 'edit-1' },
    })
    return shape(reply.body as Values)
  }
  assert.deepEqual([await ask(), await ask()], Array(2).fill(['human: 2?', 'ai: Two.']))
  assert.deepEqual([service.model.requests.length, (await client.runs.list(threadId)).length], [2, 2])
})

test('LangGraph: `goto: END` ends the run that waits, without its calls', async (t) => {
  const { sent, tool } = sending()
  const { client } = await start(t, { script: [{ ...sendTo('Bob'), text: 'One moment.' }], tools: [tool] })
  const { thread_id: threadId } = await client.threads.create()
  await client.runs.wait(threadId, 'agent', { input: human('Write to Bob.') })
  const events: string[] = []
  const stream = client.runs.stream(threadId, 'agent', { input: {}, command: { goto: '__end__' }, streamMode: 'values' })
  for await (const { event } of stream) events.push(event)
  assert.deepEqual([events.includes('error'), events.at(-1), sent], [false, 'values', []])
  assert.equal((await client.threads.get(threadId)).status, 'idle')
  await assert.rejects(client.runs.wait(threadId, 'agent', { command: { goto: '__end__' } }), { status: 409 })
})
