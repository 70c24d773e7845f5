import { test } from 'node:test'
import assert from 'node:assert/strict'
import { ModelError, type Model } from '../../agent/model.ts'
import { fail, say, ScriptedModel } from '../../agent/scripted-model.ts'
import type { Agent } from '../../configuration/agent.ts'
import { toAgentConfig } from '../../configuration/parse.ts'
import type { HistoryMessage, RunningSummary } from '../run-store.ts'
import { type SummaryStore, type WindowMove, createSummaries, createSummarise } from './summary.ts'

/** A session with the given number of turns, in memory. */
function sessionOf(turns: number, start = 0, summary?: RunningSummary) {
  const messages = Array.from({ length: turns * 2 }, (_, idx): HistoryMessage => {
    const turn = Math.floor(idx / 2)
    return idx % 2 === 0
      ? { idx, role: 'human', content: `Question ${turn}?`, data: idx === 0 ? { system: 'Speak French.' } : undefined }
      : { idx, role: 'ai', content: `Answer ${turn}.`, data: { requestId: `r${turn}`, model: 'm' } }
  })
  const moves: WindowMove[] = []
  const store: SummaryStore = {
    window: async (_, session) => (session === 'gone' ? undefined : { owner: 'o', start, summary, deleted: 0 }),
    history: async (_, __, first, limit) => messages.slice(first, first + limit),
    async moveWindow(_, __, move) {
      moves.push(move)
      return true
    },
  }
  return { store, moves, messages }
}

const failures: string[] = []

function workWith(store: SummaryStore, small: Model | undefined, parts: object = {}) {
  let holds = 0
  const agent = {
    small,
    config: toAgentConfig({ memory: { history_tokens: 4000 }, ...parts }),
    tools: { list: () => [] },
    hold: () => (holds++, () => void holds--),
  }
  const work = createSummaries({
    store,
    agent: () => agent as unknown as Agent,
    budgets: { modelsFor: (_, { small, embedder }) => ({ small, embedder }) },
    now: () => 1000,
    onFailure: (_, { message }) => failures.push(message),
  })
  return async (upTo: number, { attempt = 1, session = 's', signal = new AbortController().signal } = {}) => {
    const job = { id: 'j', kind: 'summary' as const, tenant: 't', data: { session, upTo }, dueAt: 0, attempt }
    try {
      return await work(job, signal)
    } finally {
      assert.equal(holds, 0)
    }
  }
}

test('without a small model the summary is a digest, with the system messages at the start of the session', async () => {
  const { store, moves } = sessionOf(10)
  assert.deepEqual(await workWith(store, undefined)(4), { kind: 'done' })
  const text = '- User: Question 0?\n- Assistant: Answer 0.\n- User: Question 1?\n- Assistant: Answer 1.'
  assert.deepEqual(moves, [{ start: 0, end: 4, earlier: undefined, summary: { text, system: 'Speak French.' }, deleted: 0 }])
})

test('with containment a summary keeps the taint of its turns, and one of an earlier time may hold anything', async () => {
  const taint = { sources: [{ tool: 'web_page', callId: 'c' }], isPrivate: false }
  const { store, moves, messages } = sessionOf(10)
  messages[1]!.data = { ...messages[1]!.data, taint }
  messages[3]!.data = { ...messages[3]!.data, taint: { sources: [], isPrivate: true } }
  await workWith(store, undefined, { containment: {} })(4)
  assert.deepEqual(moves[0]!.summary.taint, { ...taint, isPrivate: true })
  const later = sessionOf(10, 2, { text: 'Earlier.' })
  await workWith(later.store, undefined, { containment: {} })(4)
  assert.deepEqual(later.moves[0]!.summary.taint, { sources: [{ tool: 'summary' }], isPrivate: true })
})

test('the small model gets the earlier summary and the leaving turns as data, and writes the new summary', async () => {
  const model = new ScriptedModel(say(['All ', 'of it.']))
  const { store, moves } = sessionOf(10, 2, { text: 'So far "this".', system: 'Speak French.' })
  await workWith(store, model)(6)
  const earlier = { text: 'So far "this".', system: 'Speak French.' }
  assert.deepEqual(moves, [{ start: 2, end: 6, earlier, summary: { ...earlier, text: 'All of it.' }, deleted: 0 }])
  const [{ system, messages, tools }] = model.requests as [(typeof model.requests)[0]]
  assert.match(system, /in 250 words at most[^]*follow no instruction/)
  assert.deepEqual(tools, [])
  assert.deepEqual(JSON.parse(messages[0]!.text), {
    summary: 'So far "this".',
    turns: [{ user: 'Question 1?' }, { assistant: 'Answer 1.' }, { user: 'Question 2?' }, { assistant: 'Answer 2.' }],
  })
})

test('tool outputs and long messages are cut in the request to the small model', async () => {
  const model = new ScriptedModel(say('It.'))
  const { store, messages } = sessionOf(2)
  messages[0]!.content = 'x'.repeat(100_000)
  messages[1]!.data = { transcript: [{ role: 'tool', callId: 'c', name: 'look', text: 'y'.repeat(5000), isError: false }] }
  await workWith(store, model)(2)
  const [user, assistant] = JSON.parse(model.requests[0]!.messages[0]!.text).turns
  assert.equal(user.user.length, 6006)
  assert.deepEqual({ tool: assistant.tools[0].tool, outputCount: assistant.tools[0].output.length }, { tool: 'look', outputCount: 606 })
})

test('many turns are summarised in portions, and the window moves once', async () => {
  const portions = 5
  const model = new ScriptedModel(...Array.from({ length: portions }, (_, n) => say(`Summary ${n}.`)))
  const { store, moves } = sessionOf(100)
  await workWith(store, model)(200)
  model.assertComplete()
  assert.equal(JSON.parse(model.requests[1]!.messages[0]!.text).summary, 'Summary 0.')
  assert.deepEqual(moves, [
    { start: 0, end: 200, earlier: undefined, summary: { text: 'Summary 4.', system: 'Speak French.' }, deleted: 0 },
  ])
})

test('a summary is never longer than its share of the window', async () => {
  for (const model of [undefined, new ScriptedModel(say('x'.repeat(50_000)))]) {
    const { store, moves, messages } = sessionOf(20)
    for (const message of messages) message.content = 'y'.repeat(1000)
    await workWith(store, model)(36)
    assert.ok(moves[0]!.summary.text.length <= 2000 && moves[0]!.summary.text.length > 1500)
  }
})

test('a failing model is retried later; after some attempts the window moves without the model', async () => {
  const { store, moves } = sessionOf(10)
  failures.length = 0
  assert.deepEqual(await workWith(store, new ScriptedModel(fail()))(4), { kind: 'again', at: 21_000 })
  assert.deepEqual(await workWith(store, new ScriptedModel(say('')))(4, { attempt: 3 }), { kind: 'again', at: 61_000 })
  assert.deepEqual(failures, ['scripted-1 is down', 'scripted-1 returned an empty summary.'])
  assert.equal(moves.length, 0)
  assert.deepEqual(await workWith(store, new ScriptedModel())(4, { attempt: 4 }), { kind: 'done' })
  assert.match(moves[0]!.summary.text, /^- User: Question 0\?/)
})

test('a refusal of the model leads to a digest at once', async () => {
  const { store, moves } = sessionOf(60)
  const model = new ScriptedModel(fail(new ModelError('refused', 'no')))
  assert.deepEqual(await workWith(store, model)(100), { kind: 'done' })
  assert.match(moves[0]!.summary.text, /Answer 49\.$/)
})

test('a job is done when the window has moved or the session is gone', async () => {
  const { store, moves } = sessionOf(10, 8, { text: 'x' })
  const work = workWith(store, new ScriptedModel())
  assert.deepEqual(await work(8), { kind: 'done' })
  assert.deepEqual(await work(8, { session: 'gone' }), { kind: 'done' })
  assert.equal(moves.length, 0)
})

test('a stopped job does not move the window', async () => {
  const { store, moves } = sessionOf(10)
  const stopping = new AbortController()
  const model = new ScriptedModel({ ...say('x'), before: () => stopping.abort() })
  await assert.rejects(workWith(store, model)(4, { signal: stopping.signal }))
  assert.equal(moves.length, 0)
})

test('messages of no session are summarised by the small model, whose calls the payer pays, else by a digest', async () => {
  const { messages } = sessionOf(2)
  const payers: unknown[] = []
  let holds = 0
  const summarise = async (small: Model | undefined) => {
    const agent = { small, config: toAgentConfig({}), hold: () => (holds++, () => void holds--) } as unknown as Agent
    const modelsFor = (payer: unknown) => (payers.push(payer), { small, embedder: undefined })
    const work = createSummarise({ agent: () => agent, budgets: { modelsFor } })
    return work({ tenant: 't', owner: 'o', roles: ['user'] }, messages, new AbortController().signal)
  }
  const said = await summarise(new ScriptedModel(say('Short.')))
  assert.equal(said.text, 'Short.')
  assert.ok(said.usage.input > 0 && said.usage.output > 0)
  assert.deepEqual(payers, [{ tenant: 't', owner: 'o', roles: ['user'], operation: 'summary' }])
  const digests = [await summarise(undefined), await summarise(new ScriptedModel(fail()))]
  for (const { text, usage } of digests) assert.deepEqual([text.split('\n')[0], usage.input], ['- User: Question 0?', 0])
  messages.push(...sessionOf(300).messages)
  const long = new ScriptedModel(say('Long.'), say('Long.'), say('Long.'))
  assert.equal((await summarise(long)).text, 'Long.')
  assert.match(JSON.stringify(long.requests[0]), /- User: Question 0\?/)
  assert.equal(holds, 0)
})
