import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import OpenAI from 'openai'
import { callsIn, decide, sending, sendTo } from '../fixtures/approvals.ts'
import { event, sendEvent } from '../fixtures/async-client.ts'
import { startReceiver } from '../fixtures/callback-receiver.ts'
import { startModelServer, type ModelServerRequest } from '../fixtures/model-server.ts'
import { makeFolder, serve } from '../fixtures/process.ts'
import { startService, type ServiceOptions, scripted } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
}
const good = '{"city":"Oslo","degrees":4.5}'
const value = { city: 'Oslo', degrees: 4.5 }
const bad = '{"city":"Oslo","degrees":"cold"}'

const asking = (fields: object = { response_schema: schema }) => ({ messages: [{ role: 'user', content: 'How cold is it?' }], ...fields })
const start = (t: TestContext, options: ServiceOptions) => startService(t, options)
const errorOf = ({ status, body }: { status: number; body: any }) => [status, body.details?.error_type]
/** The last message that the model was shown. */
const lastOf = ({ body }: ModelServerRequest) => body.messages.at(-1)

test('Structured output: the answer is JSON that fits the schema, after tool calls', async (t) => {
  const tool = fakeTool('weather', async () => ({ degrees: 4.5 }))
  const { client, model } = await start(t, {
    tools: [tool],
    script: [callOf('weather'), { text: ['```json\n{"city":"Oslo",', '"degrees":4.5}\n```'] }],
  })
  const { status, body } = await client.chat(asking(), { 'session-id': 's', 'request-id': 'r' })
  assert.equal(status, 200)
  assert.deepEqual([body.body.output, body.body.structured_output], [good, value])
  assert.equal(body.body.intermediate_steps.length, 1)
  assert.match(model.requests[0]!.body.messages[0].content, /JSON Schema[^]*"degrees"/)
  // A server that decodes by a schema would call no tools.
  assert.equal(model.requests[0]!.body.response_format, undefined)
  assert.deepEqual((await client.run('r')).body.outcome.structured_output, value)
  const [, ai] = (await client.session('s')).body.messages
  assert.equal(ai.content, good)
  const next = await client.chat('And now?', { 'session-id': 's' })
  assert.equal('structured_output' in next.body.body, false)
})

test('Structured output: an answer that does not fit is corrected', async (t) => {
  const { client, model } = await start(t, { script: [{ text: bad }, { text: ['{"city":', '"Oslo","degrees":4.5}'], pauseMs: 20 }] })
  const events = await (await client.stream(asking(), { 'request-id': 'r', 'session-id': 's' })).rest()
  assert.deepEqual(
    events.map(({ chunk }) => [chunk.agent_step, chunk.token, chunk.finish_reason]),
    [
      ['answer', bad, 'null'],
      ['retrying', '', 'null'],
      ['answer', '{"city":', 'null'],
      ['answer', '"Oslo","degrees":4.5}', 'null'],
      ['answer', '', 'stop'],
    ],
  )
  assert.match(lastOf(model.requests[1]!).content, /^Your answer is not valid: \/degrees must be number\./)
  const format = model.requests[1]!.body.response_format
  assert.deepEqual([format.type, format.json_schema.strict, format.json_schema.schema], ['json_schema', true, schema])
  assert.deepEqual((await client.run('r')).body.outcome.structured_output, value)
  await client.chat('And now?', { 'session-id': 's' })
  const shown = model.requests[2]!.body.messages.map(({ content }: { content: string }) => content)
  assert.deepEqual(shown, ['How cold is it?', good, 'And now?'])
})

test('Structured output: a run whose answers do not fit fails with the last text, in every view', async (t) => {
  const receiver = await startReceiver(t)
  const environment = { OUTBOUND_ALLOW: receiver.host }
  const { client, model } = await start(t, { environment, script: [{ text: 'It is cold.' }, { text: bad }] })
  const failed = await client.chat(asking(), { 'request-id': 'r', 'session-id': 's' })
  assert.deepEqual(errorOf(failed), [502, 'SchemaMismatch'])
  assert.equal(failed.body.details.output, bad)
  assert.match(failed.body.body, /\/degrees must be number/)
  assert.equal(model.requests.length, 3)
  const run = (await client.run('r')).body
  assert.deepEqual([run.status, run.error], ['error', failed.body])
  assert.equal((await client.session('s')).body.messages.length, 1)
  const events = await (await client.stream(asking())).rest()
  assert.equal(events.filter(({ chunk }) => chunk.agent_step === 'retrying').length, 2)
  assert.deepEqual(
    [events.at(-1)?.chunk.finish_reason, events.at(-1)?.chunk.error?.details?.error_type],
    ['schema_mismatch', 'SchemaMismatch'],
  )
  await sendEvent(client, event('e1', { ...asking(), callback_url: `${receiver.url}/hook` }))
  const { body } = await receiver.reaches(1)
  assert.deepEqual([body.type, body.data.error.details.error_type], ['ai.service.agent.chain.failed', 'SchemaMismatch'])
})

test('Structured output: a repeat of the failed request goes on, with repairs of its own', async (t) => {
  const answers = [callOf('look'), { text: bad }, { text: bad }, { text: bad }, { text: good }]
  let looks = 0
  const { client } = await start(t, { tools: [fakeTool('look', async () => ({ looks: ++looks }))], script: answers })
  assert.equal((await client.chat(asking(), { 'request-id': 'r' })).status, 502)
  const again = await client.chat(asking(), { 'request-id': 'r' })
  assert.deepEqual([again.status, again.body.body.structured_output, looks], [200, value, 1])
  assert.deepEqual(errorOf(await client.chat(asking({ response_schema: { type: 'object' } }), { 'request-id': 'r' })), [
    409,
    'RequestIdReused',
  ])
})

test('Structured output: the default of agent.yaml, its change at run time, and a request that lifts it', async (t) => {
  const config = { response_schema: schema, limits: { max_schema_repairs: 0 } }
  const service = await start(t, { config, script: { text: '{"city":"Oslo"}' } })
  const { client } = service
  assert.deepEqual(errorOf(await client.chat('How cold?')), [502, 'SchemaMismatch'])
  const free = await client.chat(asking({ response_schema: null }))
  assert.deepEqual([free.status, 'structured_output' in free.body.body], [200, false])
  const admin = await service.as({ roles: ['admin'] })
  const put = (response_schema: unknown) => admin.request('PUT', '/core/v1/agent/config', { body: { configuration: { response_schema } } })
  const changed = await put({ type: 'object', properties: { city: { const: null, type: ['string', 'null'] } } })
  assert.equal(changed.status, 200, changed.text)
  // The schema is replaced as a whole, so that the former `required` is gone.
  assert.deepEqual(errorOf(await client.chat('How cold?')), [502, 'SchemaMismatch'])
  assert.equal((await put({ type: 'object', properties: { city: { type: 'string' } } })).status, 200)
  assert.deepEqual((await client.chat('How cold?')).body.body.structured_output, { city: 'Oslo' })
  const refused = await put({ type: 'object', properties: { city: { type: 'text' } } })
  assert.equal(refused.status, 422)
  assert.equal(refused.body.detail[0].loc.join('.'), 'body.configuration.response_schema.properties.city.type')
})

test('Structured output: a schema that cannot be used is 422 with its path', async (t) => {
  const { client } = await start(t, { script: { text: good } })
  const sent = asking({ response_schema: { type: 'object', properties: { a: { $ref: 'https://example.com/a' } } } })
  const chain = await client.chat(sent)
  assert.equal(chain.status, 422)
  assert.deepEqual(chain.body.details.errors[0].loc, ['body', 'response_schema', 'properties', 'a', '$ref'])
  const stream = await client.stream(sent)
  assert.deepEqual([stream.status, stream.body.detail[0].loc[1]], [422, 'response_schema'])
  const refused = await sendEvent(client, event('e', sent))
  assert.deepEqual(refused.body.detail[0].loc, ['body', 'data', 'response_schema', 'properties', 'a', '$ref'])
  assert.equal((await client.chat(asking({ response_schema: 'object' }))).status, 422)
})

test('Structured output: an approval in between keeps the schema', async (t) => {
  const { tool } = sending()
  const { client } = await start(t, { tools: [tool], script: [sendTo('Bob'), { text: bad }, { text: good }] })
  const ids = { 'request-id': 'r', 'session-id': 's' }
  const waiting = await client.chat(asking(), ids)
  assert.equal(waiting.status, 202, waiting.text)
  await decide(client, 'r', callsIn(waiting)[0]!)
  const answer = await client.chat(asking(), ids)
  assert.deepEqual([answer.status, answer.body.body.structured_output], [200, value])
})

test('Structured output: the embedded model fills a schema from the results of its tools, or says that it cannot', async (t) => {
  const { client } = await start(t, { config: { tools: [{ name: 'calculator' }] } })
  const ask = (response_schema: object) => client.chat({ messages: [{ role: 'user', content: 'What is 17% of 2340?' }], response_schema })
  const filled = await ask({ type: 'object', properties: { result: { type: 'number' } }, required: ['result'] })
  assert.deepEqual(filled.body.body?.structured_output, { result: 397.8 }, filled.text)
  const refused = await ask({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] })
  assert.deepEqual(errorOf(refused), [502, 'SchemaMismatch'])
  assert.match(refused.body.details.output, /cannot fill the schema/)
})

test('Structured output: after kill -9 in a repair, another process goes on with it', async (t) => {
  const folder = await makeFolder(t)
  const entered = Promise.withResolvers<void>()
  const model = await startModelServer((_request, index) => {
    if (index === 1) entered.resolve()
    return [{ text: bad }, { silentAfter: 0 }, { text: good }][index] ?? {}
  })
  t.after(() => model.close())
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ llms: { primary: scripted(model) }, response_schema: schema }))
  const first = await serve(t, folder)
  const body = asking({ on_disconnect: 'continue' })
  const cut = first.client.chat(body, { 'session-id': 's', 'request-id': 'r' }).catch(() => 'cut')
  await entered.promise
  first.child.kill('SIGKILL')
  assert.equal(await cut, 'cut')
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ llms: { primary: scripted(model) } }))
  const second = await serve(t, folder)
  const again = await second.client.chat(body, { 'session-id': 's', 'request-id': 'r' })
  assert.deepEqual([again.status, again.body.body.structured_output, model.requests.length], [200, value, 3])
  assert.match(lastOf(model.requests[2]!).content, /degrees must be number/)
})

test('Structured output: OpenAI clients parse the answer, streamed or not', async (t) => {
  const service = await start(t, {
    tools: [fakeTool('look', async () => ({}))],
    script: [{ ...callOf('look'), text: 'Let me look.' }, { text: bad }, { text: good }],
  })
  const openai = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: (await service.key()).key, maxRetries: 0 })
  const request = {
    model: 'agent-core',
    messages: [{ role: 'user' as const, content: 'How cold is it?' }],
    response_format: { type: 'json_schema' as const, json_schema: { name: 'weather', schema, strict: true } },
  }
  const { choices } = await openai.chat.completions.parse(request)
  assert.deepEqual([choices[0]?.message.parsed, choices[0]?.message.content], [value, good])
  const stream = openai.chat.completions.stream({ ...request, messages: [{ role: 'user', content: 'Again?' }] })
  assert.deepEqual((await stream.finalChatCompletion()).choices[0]?.message.parsed, value)
  const json = await openai.chat.completions.create({ ...request, response_format: { type: 'json_object' } })
  assert.equal(json.choices[0]?.message.content, good)
  const broken = { ...request, response_format: { type: 'json_schema' as const, json_schema: { name: 'w', schema: { type: 'thing' } } } }
  await assert.rejects(openai.chat.completions.create(broken), { status: 400, param: 'response_format.json_schema.schema.type' })
  await assert.rejects(openai.chat.completions.create({ ...request, response_format: { type: 'xml' } as never }), {
    status: 400,
    param: 'response_format.type',
  })
})
