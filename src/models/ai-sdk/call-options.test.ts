import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toCallOptions } from './call-options.ts'

test('options of a request become options of the SDK, absent ones stay absent', () => {
  assert.deepEqual(toCallOptions('google'), {})
  const options = { temperature: 0, topP: 0.5, maxOutputTokens: 9, stop: ['x'], seed: 1 }
  const expected = { temperature: 0, topP: 0.5, maxOutputTokens: 9, stopSequences: ['x'], seed: 1 }
  assert.deepEqual(toCallOptions('google', options), expected)
})

test('a demand for a tool is passed on, a single call only to the provider that has the option', () => {
  assert.deepEqual(toCallOptions('google', { toolChoice: 'required', parallelToolCalls: false }), { toolChoice: { type: 'required' } })
  assert.deepEqual(toCallOptions('anthropic', { toolChoice: { name: 'f' }, parallelToolCalls: false }), {
    toolChoice: { type: 'tool', toolName: 'f' },
    providerOptions: { anthropic: { disableParallelToolUse: true } },
  })
})
