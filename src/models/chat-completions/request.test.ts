import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message, JsonSchema } from '../../agent/messages.ts'
import { toRequestBody, toResponseFormat } from './chat-completions.ts'
import { toConfiguredOptions } from '../create-model.ts'
import type { ModelAbilities } from '../../configuration/models/abilities.ts'
import type { ModelConfig } from '../../configuration/schema.ts'

const image = (n: number) => ({ mediaType: 'image/png', data: `data${n}`, name: `${n}.png`, requestId: 'r', n })
const call = (id: string) => ({ id, name: 'look', arguments: '{}' })
const result = (callId: string, ...images: number[]): Message => ({
  role: 'tool',
  callId,
  name: 'look',
  text: 'Seen.',
  isError: false,
  ...(images.length > 0 && { images: images.map(image) }),
})
const messages: Message[] = [
  { role: 'user', text: 'Look.' },
  { role: 'assistant', text: '', toolCalls: [call('a'), call('b'), call('c')] },
  result('a', 1, 2),
  result('b'),
  result('c', 3),
]

function messagesOf(provider: 'openai' | 'mistral', messages: Message[]): any[] {
  return JSON.parse(toRequestBody({ provider, model: 'm' }, { system: '', messages, tools: [] })).messages
}

const picture = (n: number) => ({ type: 'image_url', image_url: { url: `data:image/png;base64,data${n}` } })

test('images of results follow the last result of their turn, each group with a label', () => {
  const [, , , , , roles, ...rest] = messagesOf('openai', messages)
  assert.deepEqual(rest, [])
  assert.equal(roles.role, 'user')
  const [first, message, two, second, three] = roles.content
  assert.equal(first.text, '[Output of the tool look (call a), not a message of the user: 1.png, 2.png]')
  assert.equal(second.text, '[Output of the tool look (call c), not a message of the user: 3.png]')
  assert.deepEqual({ message, two, three }, { message: picture(1), two: picture(2), three: picture(3) })
})

test('images of results are merged into the following user message, if any', () => {
  const roles = messagesOf('openai', [...messages, { role: 'user', text: 'Go on.' }]).map(({ role }) => role)
  assert.deepEqual(roles, ['user', 'assistant', 'tool', 'tool', 'tool', 'user'])
  const between = messagesOf('openai', [...messages, { role: 'assistant', text: 'Well.', toolCalls: [] }]).map(({ role }) => role)
  assert.deepEqual(between, ['user', 'assistant', 'tool', 'tool', 'tool', 'user', 'assistant'])
})

test('Mistral gets images in the result itself', () => {
  const [, , a, b, c, ...rest] = messagesOf('mistral', messages)
  assert.deepEqual(a.content, [{ type: 'text', text: 'Seen.' }, picture(1), picture(2)])
  assert.equal(b.content, 'Seen.')
  assert.deepEqual(c.content, [{ type: 'text', text: 'Seen.' }, picture(3)])
  assert.deepEqual(rest, [])
})

const tool = { name: 'look', description: 'Looks.', effect: 'read' as const, schema: { type: 'object' } }
const person: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { name: { type: 'string' }, tags: { type: 'array', items: { type: 'string' } } },
  required: ['name', 'tags'],
  additionalProperties: false,
}

function format(responseSchema: JsonSchema, tools = [tool], ability: ModelAbilities['structuredOutput'] = 'with_tools') {
  const sent = toResponseFormat({ tools, responseSchema }, ability)
  return sent as { type: string; json_schema: { name: string; schema: JsonSchema; strict: boolean } } | undefined
}

test('the schema is sent where it leaves the tools usable', () => {
  const { $schema: _, ...schema } = person
  assert.deepEqual(format(person), { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } })
  assert.equal(format(person, [tool], 'without_tools'), undefined)
  assert.equal(format(person, [], 'without_tools')?.json_schema.strict, true)
  assert.equal(format(person, [], 'none'), undefined)
  assert.equal(format({ type: 'array', items: person }), undefined)
})

test('the provider enforces only schemas of its subset', () => {
  const change = (change: JsonSchema) => format({ ...person, ...change })?.json_schema.strict
  assert.equal(change({ required: ['name'] }), false)
  assert.equal(change({ additionalProperties: true }), false)
  assert.equal(change({ minProperties: 1 }), false)
  assert.equal(change({ properties: { name: {}, tags: {} } }), false)
  assert.equal(change({ properties: { name: { type: 'string', minLength: 1 }, tags: { enum: [1] } } }), false)
  assert.equal(change({ properties: { name: { $ref: '#/$defs/n' }, tags: { enum: [1] } }, $defs: { n: { type: 'string' } } }), true)
  assert.equal(format({ type: 'object' })?.json_schema.strict, false)
})

const config: ModelConfig = { provider: 'openai-compatible', model: 'm' }

test('the settings of agent.yaml reach the requests', () => {
  const options = toConfiguredOptions('openai-compatible', {
    ...config,
    images: false,
    reasoning_effort: 'xhigh',
    reasoning_tokens: 500,
    reasoning_summary: 'off',
    extra_body: { top_k: 40 },
  })
  const { seesImages, reasoningEffort, reasoningTokens, reasoningSummary, extraBody } = options
  assert.deepEqual(
    { seesImages, reasoningEffort, reasoningTokens, reasoningSummary, extraBody },
    { seesImages: false, reasoningEffort: 'xhigh', reasoningTokens: 500, reasoningSummary: false, extraBody: { top_k: 40 } },
  )
  assert.equal(toConfiguredOptions('openai-compatible', config).reasoningSummary, undefined)
})

test('OpenAI and Azure take a schema beside tools, an unknown server does not', () => {
  assert.equal(toConfiguredOptions('openai', { ...config, provider: 'openai' }).structuredOutput, 'with_tools')
  assert.equal(toConfiguredOptions('azure', { ...config, provider: 'azure' }).structuredOutput, 'with_tools')
  assert.equal(toConfiguredOptions('openai-compatible', config).structuredOutput, 'without_tools')
})

test('a server of unknown models reads no files', () => {
  const { readsFiles } = toConfiguredOptions('openai-compatible', config)
  for (const mediaType of ['application/pdf', 'audio/wav', 'video/mp4', 'text/plain'])
    assert.equal(readsFiles?.(mediaType), false, mediaType)
})

test('an effort is fitted to the model at Mistral and xAI, and left alone elsewhere', () => {
  const effortOf = (provider: 'mistral' | 'xai' | 'openai', model: string, reasoning_effort: ModelConfig['reasoning_effort']) => {
    const options = toConfiguredOptions(provider, { provider, model, reasoning_effort })
    return JSON.parse(toRequestBody(options, { system: '', messages: [], tools: [] })).reasoning_effort
  }
  assert.equal(effortOf('mistral', 'mistral-medium-latest', 'low'), 'high')
  assert.equal(effortOf('mistral', 'mistral-medium-latest', 'none'), 'none')
  assert.equal(effortOf('mistral', 'codestral-latest', 'high'), undefined)
  assert.equal(effortOf('xai', 'grok-4.6', 'max'), 'xhigh')
  assert.equal(effortOf('openai', 'gpt-5.4', 'max'), 'max')
})
