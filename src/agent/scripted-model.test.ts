import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { Message } from './messages.ts'
import { ModelError, type ModelEvent, type ModelRequest } from './model.ts'
import { call, collectReply, fail, say, ScriptedModel } from './scripted-model.ts'

const request: ModelRequest = { system: '', messages: [{ role: 'user', text: 'Hi.' }], tools: [] }
const signal = new AbortController().signal

test('plays its script in order, and records each request as it was then', async () => {
  const model = new ScriptedModel(say(['a', 'b'], call('look', { at: 1 })), say('c'))
  const messages: Message[] = [{ role: 'user', text: 'Hi.' }]
  const { events, reply } = await collectReply(model, { ...request, messages }, signal, () => {
    messages.push({ role: 'user', text: 'later' })
  })
  assert.deepEqual(events, [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
  ])
  assert.deepEqual(reply, {
    text: 'ab',
    reasoning: '',
    finish: 'tool_calls',
    usage: { model: 'scripted-1', input: 10, output: 5, cachedInput: 0, reasoning: 0 },
    toolCalls: [{ name: 'look', arguments: '{"at":1}' }],
  })
  assert.deepEqual(model.requests, [request])
})

test('throws on a call that was not scripted, and on an unfinished script', async () => {
  const model = new ScriptedModel(say('a'))
  assert.throws(() => model.assertComplete(), /0 of 1 replies/)
  await collectReply(model, request)
  model.assertComplete()
  await assert.rejects(collectReply(model, request), /call 2 was not scripted/)
})

test('fails behind its text, and stops when its signal is aborted', async () => {
  const controller = new AbortController()
  const model = new ScriptedModel(fail(undefined, 'Half'), say(['a', 'b']))
  const texts: string[] = []
  const keep = (event: ModelEvent) => texts.push('text' in event ? event.text : '')
  await assert.rejects(collectReply(model, request, signal, keep), ModelError)
  const stopped = collectReply(model, request, controller.signal, (event) => {
    keep(event)
    controller.abort()
  })
  await assert.rejects(stopped, { name: 'AbortError' })
  assert.deepEqual(texts, ['Half', 'a'])
})
