import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import OpenAI from 'openai'
import { doors, idOf } from '../doors/doors.ts'
import { event, sendEvent } from '../fixtures/async-client.ts'
import { startReceiver } from '../fixtures/callback-receiver.ts'
import type { ModelAnswer } from '../fixtures/model-server.ts'
import { startService, type ServiceOptions, type TestService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

/** A model call costs 0.001 USD; what is left of 0.0015 USD pays for no further answer of 256 tokens. */
const modelFields = { prices: { input: 1, output: 3 } }
const usage = { input: 100, output: 300 }
const calling: ModelAnswer = { ...callOf('add', { a: 1 }), usage, writes: 'together' }
const withText: ModelAnswer = { ...calling, text: 'I add.' }
const daily = { name: 'day', scope: 'caller', window: 'day', limit: { usd: 0.0015 } }

function start(t: TestContext, script: ModelAnswer, budget: object = daily, options: ServiceOptions = {}) {
  const tools = [fakeTool('add', () => Promise.resolve({ sum: 3 }))]
  return startService(t, { script: [script], modelFields, tools, ...options, config: { budgets: [budget] } })
}

interface Answer {
  status: number
  headers: Headers
  text: string
}

/** What a door sends to a caller who asks for the first time, or again. */
async function visit(service: TestService, name: string, sub = name): Promise<Answer[]> {
  const { key } = await service.key({ sub })
  const answers: Answer[] = []
  const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const sent = { 'x-service-access': key, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers }
    // Thinking would need a longer answer than the budget pays for.
    const text =
      body === undefined ? {} : { body: JSON.stringify(body, (field, value: unknown) => (field === 'thinking' ? undefined : value)) }
    const response = await fetch(service.url + path, { method, headers: sent, ...text })
    const answer = await response.text()
    answers.push({ status: response.status, headers: response.headers, text: answer })
    return answer
  }
  const question = `${name} ${service.model.requests.length}`
  await doors[name]!({ send, scenario: { turns: [] }, question, id: idOf(name, question) })
  return answers
}

async function all<T>(events: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const each of events) list.push(each)
  return list
}

/** The last JSON value of an answer. */
function lastOf({ text }: Answer): any {
  const data = text.startsWith('{') ? text : [...text.matchAll(/^data: ?(\{[^\n]*)$/gm)].at(-1)![1]!
  return JSON.parse(data)
}

const resets = /^\d{4}-\d\d-\d\dT00:00:00\.000Z$/
const sentence = /^Budget day is used up until \d{4}-\d\d-\d\dT00:00:00\.000Z\.$/

function isRefusal({ status, headers }: Answer): void {
  assert.deepEqual([status, headers.get('x-should-retry')], [429, 'false'])
  assert.ok(Number(headers.get('retry-after')) > 0)
}

function isDetails({ error_type, budget, scope, window, resets_at, limit, spent, reserved }: Record<string, unknown>, used: number): void {
  assert.deepEqual(
    { error_type, budget, scope, window, limit, spent, reserved },
    {
      ...{ error_type: 'BudgetExceeded', budget: 'day', scope: 'caller', window: 'day' },
      ...{ limit: { usd: 0.0015 }, spent: { usd: used }, reserved: { usd: 0 } },
    },
  )
  assert.match(String(resets_at), resets)
}

function isOpenAi({ error }: any): void {
  assert.deepEqual([error.type, error.code, error.param], ['insufficient_quota', 'budget_exceeded', null])
  assert.match(error.message, sentence)
}

function isAnthropic({ type, error }: any): void {
  assert.deepEqual([type, error.type], ['error', 'billing_error'])
  assert.match(error.message, sentence)
}

function isGoogle(details: any[]): void {
  const [{ '@type': type, reason, domain, metadata }] = details
  assert.deepEqual([type, reason, domain], ['type.googleapis.com/google.rpc.ErrorInfo', 'BUDGET_EXCEEDED', 'agent-core'])
  const { resets_at, ...rest } = metadata
  assert.deepEqual(rest, { budget: 'day', scope: 'caller', window: 'day' })
  assert.match(resets_at, resets)
}

function isFailedTask({ status, metadata }: any, isStream: boolean): void {
  assert.deepEqual([status.state, isStream ? metadata.finish_reason : undefined], ['TASK_STATE_FAILED', isStream ? 'error' : undefined])
  assert.match(status.message.parts[0].text, sentence)
  isDetails(status.message.metadata, 0.001)
}

const core = (answer: Answer) => (isRefusal(answer), isDetails(lastOf(answer).details, 0.001))
const openAi = (answer: Answer) => (isRefusal(answer), isOpenAi(lastOf(answer)))
const anthropic = (answer: Answer) => (isRefusal(answer), isAnthropic(lastOf(answer)))
const rpcRefusal = (answer: Answer) => {
  const { error, id } = lastOf(answer)
  assert.deepEqual([answer.status, error.code, typeof id], [200, -32000, 'string'])
  assert.match(error.message, sentence)
  isGoogle(error.data)
}
const httpRefusal = (answer: Answer) => {
  isRefusal(answer)
  const { error } = lastOf(answer)
  assert.deepEqual([error.code, error.status], [429, 'RESOURCE_EXHAUSTED'])
  assert.match(error.message, sentence)
  isGoogle(error.details)
}
const agUi = (answer: Answer) => {
  const { type, code, message } = lastOf(answer)
  assert.deepEqual([answer.status, type, code], [200, 'RUN_ERROR', 'BudgetExceeded'])
  assert.match(message, sentence)
}
const uiChat = (answer: Answer) => {
  const { type, errorText } = lastOf(answer)
  assert.deepEqual([answer.status, type, answer.text.endsWith('data: [DONE]\n\n')], [200, 'error', true])
  assert.match(errorText, sentence)
}
const mcp = (answer: Answer) => {
  const { result } = lastOf(answer)
  assert.deepEqual([answer.status, result.isError], [200, true])
  assert.match(result.content[0].text, /^BudgetExceeded: Budget day is used up until .*Z\. Another call does not help before\.$/)
}
const langGraph = (answer: Answer) => (isRefusal(answer), assert.match(lastOf(answer).detail, sentence))
const failedResponse = ({ response }: any) => {
  assert.deepEqual([response.status, response.error.code], ['failed', 'insufficient_quota'])
  assert.match(response.error.message, sentence)
}
const incomplete = ({ status, incomplete_details, output }: any) =>
  assert.deepEqual([status, incomplete_details, output[0].content[0].text], ['incomplete', { reason: 'budget_exceeded' }, 'I add.'])

type Check = (answer: Answer) => void

/** The words of each door: for a run that is refused, and for one that a budget ends, without a text and with the text of a turn before. */
const words: Record<string, { refused: Check; failed: Check; ended: Check }> = {
  'core-json': { refused: core, failed: core, ended: (answer) => assert.equal(lastOf(answer).body.output, 'I add.') },
  'core-stream': {
    refused: core,
    failed: (answer) => {
      const { finish_reason, error } = lastOf(answer)
      assert.deepEqual([answer.status, finish_reason, error.status_code], [200, 'error', 429])
      isDetails(error.details, 0.001)
    },
    ended: (answer) => assert.equal(lastOf(answer).finish_reason, 'budget_exceeded'),
  },
  'completions-json': {
    refused: openAi,
    failed: openAi,
    ended: (answer) => {
      const { finish_reason, message } = lastOf(answer).choices[0]
      assert.deepEqual([finish_reason, message.content], ['length', 'I add.'])
    },
  },
  'completions-stream': {
    refused: openAi,
    failed: (answer) => isOpenAi(lastOf(answer)),
    ended: ({ text }) => assert.match(text, /"finish_reason":"length"/),
  },
  'responses-json': {
    refused: openAi,
    failed: openAi,
    ended: (answer) => incomplete(lastOf(answer)),
  },
  'responses-stream': {
    refused: openAi,
    failed: (answer) => (assert.match(answer.text, /^event: response\.failed$/m), failedResponse(lastOf(answer))),
    ended: (answer) => (assert.match(answer.text, /^event: response\.incomplete$/m), incomplete(lastOf(answer).response)),
  },
  'anthropic-json': {
    refused: anthropic,
    failed: anthropic,
    ended: (answer) => {
      const { stop_reason, content } = lastOf(answer)
      assert.deepEqual([stop_reason, content.at(-1).text], ['max_tokens', 'I add.'])
    },
  },
  'anthropic-stream': {
    refused: anthropic,
    failed: (answer) => (assert.match(answer.text, /^event: error$/m), isAnthropic(lastOf(answer))),
    ended: ({ text }) => assert.match(text, /"stop_reason":"max_tokens"/),
  },
  'ag-ui': {
    refused: agUi,
    failed: agUi,
    ended: (answer) => {
      const { type, result } = lastOf(answer)
      assert.deepEqual([type, result.finish_reason], ['RUN_FINISHED', 'budget_exceeded'])
    },
  },
  'ui-chat': {
    refused: uiChat,
    failed: uiChat,
    ended: (answer) => {
      const { finishReason, messageMetadata } = lastOf(answer)
      assert.deepEqual([finishReason, messageMetadata.finish_reason], ['other', 'budget_exceeded'])
    },
  },
  'a2a-rpc': {
    refused: rpcRefusal,
    failed: (answer) => isFailedTask(lastOf(answer).result.task, false),
    ended: (answer) => {
      const { status, artifacts } = lastOf(answer).result.task
      assert.deepEqual([status.state, artifacts[0].parts[0].text], ['TASK_STATE_COMPLETED', 'I add.'])
    },
  },
  'a2a-rpc-stream': {
    refused: rpcRefusal,
    failed: (answer) => isFailedTask(lastOf(answer).result.statusUpdate, true),
    ended: (answer) => {
      const { status, metadata } = lastOf(answer).result.statusUpdate
      assert.deepEqual([status.state, metadata], ['TASK_STATE_COMPLETED', { finish_reason: 'budget_exceeded' }])
    },
  },
  'a2a-http': {
    refused: httpRefusal,
    failed: (answer) => isFailedTask(lastOf(answer).task, false),
    ended: (answer) => assert.equal(lastOf(answer).task.status.state, 'TASK_STATE_COMPLETED'),
  },
  'a2a-http-stream': {
    refused: httpRefusal,
    failed: (answer) => isFailedTask(lastOf(answer).statusUpdate, true),
    ended: (answer) => assert.deepEqual(lastOf(answer).statusUpdate.metadata, { finish_reason: 'budget_exceeded' }),
  },
  'langgraph-stream': {
    refused: langGraph,
    failed: ({ text }) =>
      assert.match(text, /^event: error\ndata: \{"error":"BudgetExceeded","message":"Budget day is used up until [^"]*Z\."\}$/m),
    ended: (answer) => assert.equal(lastOf(answer).messages.at(-1).content, 'I add.'),
  },
  'langgraph-wait': {
    refused: langGraph,
    failed: (answer) => {
      const { error, message } = lastOf(answer).__error__
      assert.deepEqual([answer.status, error], [200, 'BudgetExceeded'])
      assert.match(message, sentence)
    },
    ended: (answer) => assert.equal(lastOf(answer).messages.at(-1).content, 'I add.'),
  },
  mcp: {
    refused: mcp,
    failed: mcp,
    ended: (answer) => assert.equal(lastOf(answer).result.structuredContent.output, 'I add.'),
  },
}

test('each door says in its own words that a budget has ended a run, and that it refuses the next', async (t) => {
  const [without, texts] = await Promise.all([start(t, calling), start(t, withText)])
  assert.deepEqual(Object.keys(words).sort(), Object.keys(doors).sort())
  for (const [name, { refused, failed, ended }] of Object.entries(words)) {
    await t.test(name, async () => {
      const [failure] = await visit(without, name)
      failed(failure!)
      const [end] = await visit(texts, name)
      ended(end!)
      const before = texts.model.requests.length
      const again = await visit(texts, name)
      again.slice(0, 2).forEach((answer) => answer.status === 404 || refused(answer))
      assert.equal(texts.model.requests.length, before)
    })
  }
})

test('no door tells a caller what the tenant may spend, or has spent', async (t) => {
  const service = await start(t, calling, { ...daily, scope: 'tenant' })
  for (const name of Object.keys(doors)) {
    const answers = [...(await visit(service, name, 'ann')), ...(await visit(service, name, 'bob'))]
    const text = answers.map((answer) => answer.text).join('\n')
    assert.match(text, /Budget day is used up until/, name)
    assert.doesNotMatch(text, /"(limit|spent|reserved|remaining)"|0\.0015/, name)
  }
  const refused = await service.client.chat('2 + 2?')
  assert.deepEqual(Object.keys(refused.body.details), ['error_type', 'budget', 'scope', 'window', 'resets_at'])
})

test('a budget without an end is named without a time', async (t) => {
  const service = await start(t, calling, { name: 'each', scope: 'run', limit: { usd: 0.0015 } })
  const texts = await Promise.all(['core-json', 'mcp', 'ui-chat', 'a2a-rpc'].map(async (name) => (await visit(service, name))[0]!.text))
  for (const text of texts) assert.match(text, /Budget each is used up\."/)
})

test("OpenAI's client makes one request for a budget that is used up, before and inside of a stream", async (t) => {
  const service = await start(t, calling)
  const clientOf = async (sub: string) => {
    const sent: string[] = []
    const counting: typeof fetch = (input, init) => (sent.push(String(input)), fetch(input, init))
    return { sent, openai: new OpenAI({ baseURL: `${service.url}/v1`, apiKey: (await service.key({ sub })).key, fetch: counting }) }
  }
  const model = 'agent-core'
  const messages = [{ role: 'user' as const, content: 'Add 1 and 2.' }]
  const asks: Record<string, (openai: OpenAI) => Promise<unknown>> = {
    completion: (openai) => openai.chat.completions.create({ model, messages }),
    'streamed completion': async (openai) => all(await openai.chat.completions.create({ model, messages, stream: true })),
    response: (openai) => openai.responses.create({ model, input: 'Add 1 and 2.' }),
  }
  for (const [name, ask] of Object.entries(asks)) {
    const { sent, openai } = await clientOf(name)
    // The first run is ended by the budget, the second is refused.
    for (const count of [1, 2]) {
      const isBudget = (error: unknown) => {
        assert.ok(error instanceof OpenAI.APIError, name)
        assert.deepEqual([error.type, error.code], ['insufficient_quota', 'budget_exceeded'], name)
        return true
      }
      await assert.rejects(ask(openai), isBudget)
      assert.equal(sent.length, count, name)
    }
  }
  const { sent, openai } = await clientOf('streamed response')
  const events = await all(await openai.responses.create({ model, input: 'Add 1 and 2.', stream: true }))
  const last = events.at(-1)
  assert.deepEqual([last?.type, last?.type === 'response.failed' && last.response.error?.code], ['response.failed', 'insufficient_quota'])
  await assert.rejects(openai.responses.create({ model, input: 'Add.', stream: true }), { status: 429, type: 'insufficient_quota' })
  assert.equal(sent.length, 2)
})

const newTask = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'ask', arguments: { message: 'Add.' }, task: {} } }

test('a task of MCP and a response in the background are refused before they are stored', async (t) => {
  const service = await start(t, calling, { ...daily, limit: { usd: 0.0001 } })
  const { client } = service
  const headers = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' }
  const { text } = await client.request('POST', '/mcp', { headers, body: newTask })
  const { error } = lastOf({ text, status: 200, headers: new Headers() })
  assert.deepEqual([error.code, error.data.budget, error.data.error_type], [-32000, 'day', 'BudgetExceeded'])
  // No window of this limit pays for an answer.
  const never = 'Budget day can never pay for this call, whose shortest answer costs more than the limit.'
  assert.deepEqual([error.message, error.data.resets_at], [never, undefined])
  const body = { model: 'agent-core', input: 'Add.', background: true }
  const background = await client.request('POST', '/v1/responses', { body })
  assert.deepEqual([background.status, background.body.error.type, background.body.error.message], [429, 'insufficient_quota', never])
  assert.deepEqual([background.headers.get('retry-after'), background.headers.get('x-should-retry')], [null, 'false'])
  assert.deepEqual((await client.request('GET', '/core/v1/runs')).body.runs, [])
})

test('the callback of an async chat names the budget; a refused event is accepted once the limit is raised', async (t) => {
  const receiver = await startReceiver(t)
  const service = await start(t, calling, daily, { environment: { OUTBOUND_ALLOW: receiver.host } })
  const { client } = service
  const data = { messages: [{ role: 'user', content: 'Add 1 and 2.' }], callback_url: receiver.url }
  assert.equal((await sendEvent(client, event('e1', data))).status, 200)
  const { body } = await receiver.reaches(1)
  assert.deepEqual([body.type, body.data.error.status_code], ['ai.service.agent.chain.failed', 429])
  isDetails(body.data.error.details, 0.001)

  const refused = await sendEvent(client, event('e2', data))
  isRefusal(refused)
  isDetails(refused.body.details, 0.001)
  const headers = { 'content-type': 'application/cloudevents-batch+json' }
  const batch = await client.request('POST', '/core/v1/chain_async', { body: [event('e2', data), event('e1', data)], headers })
  const [first, second] = batch.body
  assert.deepEqual([batch.status, first.status_code, second.status], [200, 429, 'accepted'])
  isDetails(first.details, 0.001)
  assert.ok(first.details.retry_after > 0)
  assert.equal((await client.request('GET', '/core/v1/runs')).body.runs.length, 1)

  const admin = await service.as({ roles: ['admin'] })
  const budgets = [{ ...daily, limit: { usd: 1 } }]
  const changed = await admin.request('PUT', '/core/v1/agent/config', { body: { configuration: { budgets } } })
  assert.equal(changed.status, 200, changed.text)
  const accepted = await sendEvent(client, event('e2', data))
  assert.deepEqual([accepted.status, accepted.body.id], [200, 'e2'])
})
