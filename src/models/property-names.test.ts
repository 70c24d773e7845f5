import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ToolOffer } from '../agent/model.ts'
import { withRealNames, withSentNames } from './fit-messages.ts'

const long = 'x'.repeat(70)
const schema = {
  type: 'object',
  properties: {
    'a b': { type: 'string', description: 'The first.' },
    a_b: { type: 'string' },
    'a/b': true,
    [long]: { type: 'string' },
    [`${long}y`]: { type: 'string' },
  },
  required: ['a b', 'a_b'],
  dependentRequired: { 'a b': ['a/b'] },
}
const tool: ToolOffer = { name: 'find', description: 'Finds.', effect: 'read', schema }
const plain: ToolOffer = { ...tool, name: 'plain', schema: { type: 'object', properties: { a: {} } } }
const reply = {
  text: '',
  reasoning: '',
  finish: 'tool_calls' as const,
  usage: { model: 'm', input: 0, output: 0, cachedInput: 0, reasoning: 0 },
}

test('Each refused name gets a name of its own, and required parameters follow', () => {
  const { tools } = withSentNames({ system: '', messages: [], tools: [tool, plain] })
  assert.deepEqual(tools[0]!.schema, {
    type: 'object',
    properties: {
      a_b_2: { type: 'string', description: '"a b": The first.' },
      a_b: { type: 'string' },
      a_b_3: true,
      [long.slice(0, 64)]: { type: 'string', description: `"${long}"` },
      [`${long.slice(0, 62)}_2`]: { type: 'string', description: `"${long}y"` },
    },
    required: ['a_b_2', 'a_b'],
  })
  assert.equal(tools[1]!.schema, plain.schema)
})

test('Calls have the names of the tool, those of the history the names that were sent', () => {
  const toolCalls = [
    { name: 'find', arguments: '{"a_b_2":"1","a_b":"2","other":3}' },
    { name: 'find', arguments: '{"a_b_2":' },
    { name: 'plain', arguments: '{"a_b_2":1}' },
  ]
  const real = withRealNames({ ...reply, toolCalls }, [tool, plain]).toolCalls
  assert.deepEqual(
    real.map((call) => call.arguments),
    ['{"a b":"1","a_b":"2","other":3}', '{"a_b_2":', '{"a_b_2":1}'],
  )
  const message = { role: 'assistant' as const, text: '', toolCalls: real.map((call, n) => ({ ...call, id: `${n}` })) }
  const [sent] = withSentNames({ system: '', messages: [message], tools: [tool, plain] }).messages
  assert.deepEqual(
    sent?.role === 'assistant' && sent.toolCalls.map((call) => call.arguments),
    toolCalls.map((call) => call.arguments),
  )
})

test('A request without such names stays as it is', () => {
  const request = { system: '', messages: [], tools: [plain] }
  assert.equal(withSentNames(request), request)
})
