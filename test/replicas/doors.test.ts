import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import OpenAI from 'openai'
import type { ModelAnswer, ModelServerRequest } from '../fixtures/model-server.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { startService } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

type Event = OpenAI.Responses.ResponseStreamEvent

const model = 'agent-core'
const weather = { type: 'function' as const, name: 'get_weather', parameters: { type: 'object', properties: {} }, strict: false }

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

/** Clients of two services on a shared database. */
async function startTwo(t: TestContext, script: (request: ModelServerRequest) => ModelAnswer) {
  const environment = { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
  const start = async () => {
    const { url, key } = await startService(t, { script, environment, config: { uri_id: model } })
    return new OpenAI({ baseURL: `${url}/v1`, apiKey: (await key()).key, maxRetries: 0 })
  }
  return { here: await start(), there: await start() }
}

test('a response that one replica makes is followed, continued and cancelled at another', async (t) => {
  const { here, there } = await startTwo(t, ({ body }) => {
    const { role, content } = body.messages.at(-1)
    if (role === 'tool') return { text: `It is ${content}.` }
    if (content === 'weather') return callOf('get_weather')
    return content === 'slow' ? { text: ['a', 'b', 'c'], delayMs: 200 } : { silentAfter: 0 }
  })

  const events: Event[] = []
  const rest: Event[] = []
  for await (const event of await here.responses.create({ model, input: 'slow', stream: true })) {
    events.push(event)
    if (event.type !== 'response.in_progress') continue
    const { id } = event.response
    const following = await there.responses.retrieve(id, { stream: true, starting_after: event.sequence_number })
    for await (const later of following) rest.push(later)
  }
  assert.deepEqual(
    rest,
    events.filter(({ sequence_number: n }) => n > 1),
  )
  assert.equal(rest.at(-1)?.type, 'response.completed')

  const asked = await here.responses.create({ model, input: 'weather', tools: [weather] })
  const call = asked.output.find((item) => item.type === 'function_call')!
  const output = { type: 'function_call_output' as const, call_id: call.call_id, output: 'sunny' }
  const answered = await there.responses.create({ model, input: [output], previous_response_id: asked.id, tools: [weather] })
  assert.equal(answered.output_text, 'It is sunny.')
  assert.equal((await here.responses.retrieve(answered.id)).output_text, 'It is sunny.')

  const endless = await here.responses.create({ model, input: 'endless', background: true })
  assert.equal((await there.responses.cancel(endless.id)).status, 'cancelled')
})
