import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelOptions, ModelRequest } from '../src/agent/model.ts'
import { collectReply } from '../src/agent/scripted-model.ts'
import { createDemoModel } from './demo-model.ts'

const fields = { name: { type: 'string' }, count: { type: 'integer', minimum: 2 }, kind: { enum: ['a', 'b'] }, list: { type: 'array' } }
const schema = { type: 'object', properties: fields, required: Object.keys(fields) }
const tools = [
  { name: 'save', description: 'Saves.', effect: 'read' as const, schema },
  { name: 'noop', description: 'Nothing.', effect: 'read' as const, schema: { type: 'object', properties: {} } },
]

async function reply(text: string, options: ModelOptions) {
  const request: ModelRequest = { system: '', messages: [{ role: 'user', text }], tools, options }
  return (await collectReply(createDemoModel('rules-1'), request)).reply
}

test('the embedded model makes the call that a request demands, with all required parameters', async () => {
  const { toolCalls, text, finish } = await reply('Hello', { toolChoice: { name: 'save' } })
  assert.deepEqual([text, finish, toolCalls[0]?.name], ['', 'tool_calls', 'save'])
  assert.deepEqual(JSON.parse(toolCalls[0]!.arguments), { name: 'Hello', count: 2, kind: 'a', list: [] })
  assert.equal((await reply('Hello', { toolChoice: 'required' })).toolCalls.length, 1)
  assert.equal((await reply('Hello', { toolChoice: 'auto' })).toolCalls.length, 0)
})

test('the embedded model stops at a stop text and at its limit of tokens', async () => {
  const whole = (await reply('Hello', {})).text
  const [first = ''] = whole.split(' ')
  const stopped = await reply('Hello', { stop: [whole.slice(first.length, first.length + 3)] })
  assert.deepEqual([stopped.text, stopped.finish], [first, 'stop'])
  const cut = await reply('Hello', { maxOutputTokens: 2 })
  assert.equal(cut.finish, 'length')
  assert.ok(whole.startsWith(cut.text) && cut.text.length < whole.length)
})
