import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MessageFile } from '../../agent/messages.ts'
import { ownFields } from '../../configuration/models/rules.ts'
import type { ModelRequest, ToolOffer } from '../../agent/model.ts'
import { formOf, toRequestBody, type RequestSettings } from './chat-completions.ts'

const strictSchema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
const strictTool: ToolOffer = { name: 'look', description: 'Looks.', effect: 'read', schema: { $schema: 'x', ...strictSchema } }
const laxTool: ToolOffer = { name: 'find', description: 'Finds.', effect: 'read', schema: { type: 'object', properties: { a: {} } } }
const search: ToolOffer = { ...laxTool, name: 'search', provider: { tool: 'web_search', config: {} } }
const hello: ModelRequest = { system: '', messages: [{ role: 'user', text: 'Hello' }], tools: [] }

function bodyOf(settings: Partial<RequestSettings> = {}, request: Partial<ModelRequest> = {}, form = formOf('openai-compatible')): any {
  return JSON.parse(toRequestBody({ provider: 'openai-compatible', model: 'm', ...settings }, { ...hello, ...request }, form))
}

test('further fields reach the server, and never replace the fields of the service', () => {
  const extraBody = { top_k: 40, provider: { order: ['a'] }, model: 'other', temperature: 2, messages: [], stream: false, n: 5 }
  const { top_k, provider, model, temperature, messages, stream, n } = bodyOf({ extraBody })
  assert.deepEqual(
    { top_k, provider, model, temperature, stream, n },
    { top_k: 40, provider: { order: ['a'] }, model: 'm', temperature: undefined, stream: true, n: undefined },
  )
  assert.equal(messages.length, 1)
})

test('every field of a request is a field that a configuration cannot set', () => {
  const options = { temperature: 1, topP: 1, presencePenalty: 1, frequencyPenalty: 1, stop: ['x'], seed: 1, maxOutputTokens: 1 }
  const wish = { reasoningEffort: 'low' as const, toolChoice: 'required' as const, parallelToolCalls: false }
  const request = { tools: [laxTool], responseSchema: strictSchema, options: { ...options, ...wish } }
  for (const provider of ['openai', 'mistral', 'openai-compatible'] as const) {
    const body = bodyOf({ provider, structuredOutput: 'with_tools' }, request, formOf(provider))
    assert.deepEqual(
      Object.keys(body).filter((field) => !ownFields.includes(field)),
      [],
    )
  }
})

test('schemas of tools are enforced where the server and the schema allow it', () => {
  const tools = [strictTool, laxTool]
  const strictOf = (body: any) => body.tools.map((tool: any) => tool.function.strict)
  assert.deepEqual(strictOf(bodyOf({}, { tools })), [undefined, undefined])
  const body = bodyOf({ strictTools: true }, { tools })
  assert.deepEqual(strictOf(body), [true, undefined])
  assert.deepEqual(body.tools[0].function.parameters, strictSchema)
  const form = formOf('openai-compatible')
  assert.deepEqual(strictOf(bodyOf({ strictTools: true }, { tools }, { ...form, quirks: { ...form.quirks, refusesStrict: true } })), [
    undefined,
    undefined,
  ])
})

test('the schema of an answer is sent beside tools where the server can use both', () => {
  const request = { tools: [laxTool], responseSchema: strictSchema }
  assert.equal(bodyOf({}, request).response_format, undefined)
  assert.equal(bodyOf({ structuredOutput: 'with_tools' }, request).response_format.type, 'json_schema')
  assert.equal(bodyOf({ structuredOutput: 'none' }, { responseSchema: strictSchema }).response_format, undefined)
})

test('tools that the provider runs are not offered', () => {
  assert.deepEqual(bodyOf({}, { tools: [laxTool, search] }).tools.length, 1)
  const { tools, tool_choice } = bodyOf({}, { tools: [search], options: { toolChoice: 'required' } })
  assert.deepEqual({ tools, tool_choice }, { tools: undefined, tool_choice: undefined })
})

test('an effort of the request replaces a configured number of tokens', () => {
  const form = formOf('openai-compatible', 'openrouter.ai')
  assert.deepEqual(bodyOf({ reasoningTokens: 500 }, {}, form).reasoning, { max_tokens: 500 })
  assert.deepEqual(bodyOf({ reasoningTokens: 500 }, { options: { reasoningEffort: 'low' } }, form).reasoning, { effort: 'low' })
})

const file = (mediaType: string): MessageFile => ({ name: 'x', mediaType, data: 'aGk=' })
const partOf = (mediaType: string, provider: 'openai' | 'mistral' = 'openai') => {
  const messages = [{ role: 'user' as const, text: 'Read.', files: [file(mediaType)] }]
  return bodyOf({ provider }, { messages }, formOf(provider)).messages[0].content[1]
}

test('documents, audio and videos of a question are parts of its message', () => {
  assert.deepEqual(partOf('application/pdf'), { type: 'file', file: { filename: 'x', file_data: 'data:application/pdf;base64,aGk=' } })
  for (const [mediaType, format] of [
    ['audio/wav', 'wav'],
    ['audio/x-wav', 'wav'],
    ['audio/mpeg', 'mp3'],
    ['audio/mp3', 'mp3'],
    ['audio/flac', 'flac'],
  ]) {
    assert.deepEqual(partOf(mediaType!), { type: 'input_audio', input_audio: { data: 'aGk=', format } })
  }
  assert.deepEqual(partOf('video/mp4'), { type: 'video_url', video_url: { url: 'data:video/mp4;base64,aGk=' } })
  assert.deepEqual(partOf('application/pdf', 'mistral'), {
    type: 'document_url',
    document_url: 'data:application/pdf;base64,aGk=',
    document_name: 'x',
  })
  assert.deepEqual(partOf('audio/wav', 'mistral'), { type: 'input_audio', input_audio: 'aGk=' })
})

test('tools that may not be called now are sent with the choice of none, where the server knows it and the schema of the answer does not suffer', () => {
  const sentTo = (provider: RequestSettings['provider'], request: Partial<ModelRequest> = {}, settings: Partial<RequestSettings> = {}) => {
    const { tools, tool_choice: choice, response_format: format } = bodyOf({ provider, ...settings }, { idleTools: [laxTool], ...request })
    return [tools?.length, choice, format !== undefined]
  }
  assert.deepEqual(sentTo('openai'), [1, 'none', false])
  assert.deepEqual(sentTo('openai-compatible'), [undefined, undefined, false])
  assert.deepEqual(sentTo('openai', { tools: [strictTool] }), [1, undefined, false])
  assert.deepEqual(sentTo('mistral', { responseSchema: strictSchema }, { structuredOutput: 'with_tools' }), [1, 'none', true])
  assert.deepEqual(sentTo('mistral', { responseSchema: strictSchema }, { structuredOutput: 'without_tools' }), [undefined, undefined, true])
})

test('a server that refuses demands of models that think stops the thinking where it can, and else gets no demand', () => {
  const request = { tools: [laxTool], options: { toolChoice: 'required' as const, reasoningEffort: 'high' as const } }
  const sent = (host: string, refusesDemands: boolean) => {
    const form = formOf('openai-compatible', host)
    const { tool_choice, thinking, reasoning_effort } = bodyOf({}, request, { ...form, quirks: { ...form.quirks, refusesDemands } })
    return { tool_choice, thinking, reasoning_effort }
  }
  const off = { thinking: { type: 'disabled' }, reasoning_effort: undefined }
  const on = { thinking: { type: 'enabled' }, reasoning_effort: 'high' }
  assert.deepEqual(sent('api.deepseek.com', false), { tool_choice: 'required', ...on })
  assert.deepEqual(sent('api.deepseek.com', true), { tool_choice: 'required', ...off })
  assert.deepEqual(sent('localhost', true), { tool_choice: undefined, thinking: undefined, reasoning_effort: 'high' })
})

test('parameters have names that Claude accepts behind a server that has refused others', () => {
  const odd = { ...laxTool, schema: { type: 'object', properties: { 'filter[id]': { type: 'string' } } } }
  const form = formOf('openai-compatible')
  const namesIn = (needsPlainNames: boolean) =>
    Object.keys(
      bodyOf({}, { tools: [odd] }, { ...form, quirks: { ...form.quirks, needsPlainNames } }).tools[0].function.parameters.properties,
    )
  assert.deepEqual([namesIn(false), namesIn(true)], [['filter[id]'], ['filter_id_']])
})
