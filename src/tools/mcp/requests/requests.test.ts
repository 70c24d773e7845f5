import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { startAskingMcpServer } from '../../../../test/fixtures/asking-mcp-server.ts'
import type { ModelReply } from '../../../agent/model.ts'
import type { SampleRequest } from '../../../agent/tool.ts'
import { createGuardedFetch } from '../../../outbound/guarded-fetch.ts'
import { connectServer, referenceServer } from '../mcp-fixture.ts'

async function connect(t: TestContext, config: object) {
  const server = await startAskingMcpServer()
  t.after(() => server.close())
  const outbound = createGuardedFetch({ allowed: [] })
  t.after(() => outbound.close())
  return { server, ...(await connectServer(t, { config: { url: server.url, ...config }, outbound })) }
}

/** The model of a run, which repeats the last message. */
function sampling() {
  const requests: SampleRequest[] = []
  const sample = async (request: SampleRequest): Promise<ModelReply> => {
    requests.push(request)
    const usage = { model: 'scripted', input: 1, output: 1, cachedInput: 0, reasoning: 0 }
    return { text: `said ${request.messages.at(-1)?.text}`, reasoning: '', toolCalls: [], finish: 'stop', usage }
  }
  return { requests, context: { sample } }
}

test('a server asks the model of the run, within the limit of tokens', async (t) => {
  const { call } = await connect(t, { sampling: 'allow' })
  const { requests, context } = sampling()
  assert.equal((await call('summarise', {}, { context })).output, 'Summary: said Summarise: blue.')
  assert.deepEqual(requests, [{ system: 'Be short.', messages: [{ role: 'user', text: 'Summarise: blue.' }], maxOutputTokens: 4096 }])
  assert.match((await call('summarise')).text, /asked the model, which is possible in a chat only/)
})

test('sampling and elicitation are denied by default, and the model is told', async (t) => {
  const { call, server } = await connect(t, {})
  const { requests, context } = sampling()
  assert.match((await call('summarise', {}, { context })).text, /sampling\/createMessage.+do not declare the required capability/)
  assert.match(
    (await call('book', {}, { context: { maySuspend: true } })).text,
    /elicitation\/create.+do not declare the required capability/,
  )
  assert.deepEqual([requests, server.bookings], [[], []])
  const declared = server.requests.flatMap(({ body }) => body?.params?._meta?.['io.modelcontextprotocol/clientCapabilities'] ?? [])
  assert.deepEqual(declared[0], {})
})

test('a question suspends the call, and its answer goes on with the state of the server', async (t) => {
  const { call, server } = await connect(t, { elicitation: 'allow' })
  const asked = await call('book', {}, { context: { maySuspend: true } })
  assert.deepEqual(asked.pendingCalls, [
    {
      callId: 'c:1_1',
      tool: 's__book',
      by: 'caller',
      input: {
        server: 's',
        question: 'Which seat?',
        answer_schema: {
          type: 'object',
          properties: { seat: { type: 'string', enum: ['aisle', 'window'] }, meal: { type: 'string', default: 'none' } },
          required: ['seat'],
        },
      },
    },
  ])
  const { state } = asked.suspended!
  const resume = (decision: object) => {
    const resumed = { state: structuredClone(state), answerTo: () => decision as never }
    return call('book', {}, { context: { maySuspend: true, resumed } })
  }
  assert.equal((await resume({ decision: 'reject' })).output, 'Not booked: decline')
  const booked = await resume({ decision: 'approve', input: { seat: 'aisle' }, isStarted: false })
  assert.equal(booked.output, 'Booked {"meal":"none","seat":"aisle"}')
  assert.deepEqual(server.bookings, [{ meal: 'none', seat: 'aisle' }])
})

test('a page to visit is shown as an address, and a confirmation has no content', async (t) => {
  const { call } = await connect(t, { elicitation: 'allow' })
  const asked = await call('visit', {}, { context: { maySuspend: true } })
  assert.deepEqual(asked.pendingCalls?.[0]?.input, { server: 's', question: 'Please pay.', url: 'https://pay.example/1' })
  const resumed = { state: asked.suspended!.state, answerTo: () => ({ decision: 'approve' as const, isStarted: false }) }
  assert.equal((await call('visit', {}, { context: { maySuspend: true, resumed } })).output, 'Visit: accept')
})

test('what the model has answered is kept until the caller has answered too', async (t) => {
  const { call } = await connect(t, { elicitation: 'allow', sampling: 'allow' })
  const { requests, context } = sampling()
  const asked = await call('both', {}, { context: { ...context, maySuspend: true } })
  const answerTo = () => ({ decision: 'approve' as const, input: { seat: 'window' }, isStarted: false })
  const resumed = { state: asked.suspended!.state, answerTo }
  assert.equal((await call('both', {}, { context: { ...context, maySuspend: true, resumed } })).output, 'said Summarise: blue., window')
  assert.equal(requests.length, 1)
})

test('where nobody can answer a question is cancelled, and the model is told what was asked', async (t) => {
  const { call } = await connect(t, { elicitation: 'allow' })
  assert.equal(
    (await call('book')).output,
    'Not booked: cancel\n[The server asked: "Which seat?". The question was not shown to a person and was cancelled. Ask the user in your answer if it matters.]',
  )
})

test('a server of the 2025 protocol may ask the model; its questions are cancelled', async (t) => {
  const config = { ...referenceServer('everything', 'stdio'), sampling: 'allow', elicitation: 'allow' }
  const { call } = await connectServer(t, { config })
  const { requests, context } = sampling()
  const [first, second] = await Promise.all([
    call('trigger-sampling-request', { prompt: 'One', maxTokens: 5 }, { context }),
    call('trigger-sampling-request', { prompt: 'Two' }, { context }),
  ])
  assert.match(String(first.output), /said Resource trigger-sampling-request context: One/)
  assert.match(String(second.output), /Two/)
  assert.deepEqual(
    requests.map(({ maxOutputTokens }) => maxOutputTokens),
    [5, 100],
  )
  assert.match((await call('trigger-elicitation-request', {}, { context: { maySuspend: true } })).text, /\[The server asked: ".+cancelled/s)
})

test('resources are listed and read, and binary ones become files', async (t) => {
  const { call, group } = await connect(t, { resources: true })
  assert.ok(group.tools().some(({ name, effect }) => name === 's__read_resource' && effect === 'read'))
  assert.deepEqual((await call('list_resources')).output, {
    resources: [
      { uri: 'note://1', name: 'First note', media_type: 'text/plain' },
      { uri: 'note://picture', name: 'picture', media_type: 'image/png' },
    ],
    templates: [],
  })
  assert.equal((await call('read_resource', { uri: 'note://1' })).output, 'Buy milk.')
  const files: { name: string; type: string; bytes: Uint8Array }[] = []
  assert.match(
    (await call('read_resource', { uri: 'note://picture' }, { files })).text,
    /^\[resource note:\/\/picture \(image\/png, 13 bytes\) is kept as the file resource-1\.png\]/,
  )
  assert.equal(files[0]?.type, 'image/png')
  assert.match((await call('read_resource', { uri: 'note://none' })).text, /The server refused the call/)
  const { group: other } = await connect(t, {})
  assert.ok(other.tools().every(({ name }) => !name.endsWith('_resource')))
})
