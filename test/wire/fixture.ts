import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { JsonObject } from '../../src/agent/messages.ts'
import { makeImage } from '../fixtures/make-images.ts'
import type { Client } from '../fixtures/service-client.ts'
import { addTools, startService, type TestService } from '../fixtures/service.ts'
import { fakeTool } from '../fixtures/tools.ts'
import { startWireServer, type WireServer } from './server.ts'
import type { Answer } from './wire.ts'

/** A service in front of the providers, with tools. */

export interface WireService {
  service: TestService
  wire: WireServer
  /** Gives answers to the models; a question is then asked with `ask`. */
  script(...answers: Answer[]): void
  /** Asks in a session and returns the answer. Fails for a refused request and for answers that nobody asked for. */
  ask(session: string, question?: string | object): Promise<string>
  /** Changes the models of the running service. */
  configure(primary: string, ...fallback: string[]): Promise<void>
  /** Fails where a provider has refused a request. */
  assertAccepted(): void
}

const look = fakeTool('look', async ({ at = '' }: JsonObject) => ({ seen: `${String(at)} is red` }), {
  schema: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'], additionalProperties: false },
})
const fails = fakeTool('fails', async () => Promise.reject(new Error('out of paper')))
const silent = fakeTool('silent', async () => '')
/**
 * A name that begins with a digit, and a schema as servers of MCP have it: a choice at the top, lists that tell nothing of their items, and
 * names of parameters as in queries.
 */
const odd = fakeTool('3d.odd', async (input: JsonObject) => input, {
  schema: {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: {
      tags: { type: 'array' },
      range: { type: 'array', items: [{ type: 'number' }, { type: 'number' }] },
      'filter[id]': { type: 'integer' },
    },
    anyOf: [
      { properties: { address: { type: 'string' } }, required: ['address'] },
      { properties: { id: { type: 'integer' } }, required: ['id'] },
    ],
  },
})

const tools = [look, fails, silent, odd]

/** Fields of the model before, which a change would keep. */
const secrets = { api_key: null, access_key_id: null, secret_access_key: null }
const noFields = { ...secrets, region: null, wire: null, reasoning_effort: null, max_output_tokens: null }

/** A call of the tool `look`. */
export const lookAt = (at: string) => ({ name: 'look', input: { at } })

export async function startWire(t: TestContext, primary: string, { fallback = [] as string[], config = {} } = {}): Promise<WireService> {
  const wire = await startWireServer(t)
  const llms = { primary: wire.llm(primary), fallback: fallback.map((name) => wire.llm(name)) }
  const service = await startService(t, { tools, config: { llms, ...config } })
  const assertAccepted = () => {
    for (const { provider, refusal, body } of wire.refusals) {
      assert.fail(`${provider} refused a request: ${JSON.stringify(refusal.body)}\n${JSON.stringify(body)}`)
    }
  }
  return {
    service,
    wire,
    script: (...answers) => void wire.answers.push(...answers),
    assertAccepted,
    async ask(session, question = 'Which colour?') {
      const { status, body, text } = await service.client.chat(question, { 'session-id': session })
      assertAccepted()
      assert.equal(status, 200, text)
      assert.deepEqual(wire.answers, [], `answers are left: ${text}`)
      return body.body.output
    },
    async configure(name, ...fallbacks) {
      await putModels(service, { primary: { ...noFields, ...wire.llm(name) }, fallback: fallbacks.map((other) => wire.llm(other)) }, config)
    },
  }
}

async function putModels(service: TestService, llms: object, config: object): Promise<void> {
  const admin: Client = await service.as({ sub: 'root', roles: ['admin'] })
  const changed = await admin.request('PUT', '/core/v1/agent/config', { body: { configuration: { llms, ...config } } })
  assert.equal(changed.status, 200, changed.text)
  addTools(service.service, tools)
}

/** A question with an image. */
export async function askWithImage(): Promise<object> {
  const images = [{ type: 'base64', content: (await makeImage('png')).toString('base64') }]
  return { messages: [{ role: 'user', content: 'What is this?' }], images }
}
