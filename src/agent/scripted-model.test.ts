import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { Message } from './messages.ts'
import { ModelError, type ModelEvent, type ModelRequest } from './model.ts'
import { call, fail, say, ScriptedModel } from './scripted-model.ts'

const request: ModelRequest = { system: '', messages: [{ role: 'user', text: 'Hi.' }], tools: [] }
const signal = new AbortController().signal

test('plays its script in order, and records each request as it was then', async () => {
  const model = new ScriptedModel(say(['a', 'b'], call('look', { at: 1 })), say('c'))
  const messages: Message[] = [{ role: 'user', text: 'Hi.' }]
  const replying = model.reply({ ...request, messages }, signal)
  assert.deepEqual((await replying.next()).value, { type: 'text', text: 'a' } satisfies ModelEvent)
  messages.push({ role: 'user', text: 'later' })
  await replying.next()
  const { value } = await replying.next()
  assert.deepEqual(value, {
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
  for await (const event of model.reply(request, signal)) assert.equal(event.type, 'text')
  model.assertComplete()
  await assert.rejects(model.reply(request, signal).next(), /call 2 was not scripted/)
})

test('fails behind its text, and stops when its signal is aborted', async () => {
  const controller = new AbortController()
  const model = new ScriptedModel(fail(undefined, 'Half'), say(['a', 'b']))
  const failing = model.reply(request, signal)
  assert.equal((await failing.next()).done, false)
  await assert.rejects(failing.next(), ModelError)
  const stopped = model.reply(request, controller.signal)
  await stopped.next()
  controller.abort()
  await assert.rejects(stopped.next(), { name: 'AbortError' })
})
