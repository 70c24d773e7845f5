import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from './messages.ts'
import { choiceInForce, isChosen } from './model-call.ts'

const question: Message = { role: 'user', text: 'Go.' }
const call: Message = { role: 'assistant', text: '', toolCalls: [{ id: '1', name: 'a', arguments: '{}' }] }

test('a demand for a call holds until the first call of the run', () => {
  assert.equal(choiceInForce('required', [question]), 'required')
  assert.equal(choiceInForce('required', [question, call]), 'auto')
  assert.deepEqual(choiceInForce({ name: 'a' }, [call, question]), { name: 'a' }, 'calls of earlier turns do not count')
  assert.equal(choiceInForce('none', [question, call]), 'none')
})

test('none leaves the tools of the agent, a demand those of the client', () => {
  const own = { name: 'own' }
  const ofClient = { name: 'a', approval: { by: 'client' as const } }
  assert.deepEqual([isChosen(own, 'none'), isChosen(ofClient, 'none')], [true, false])
  assert.deepEqual([isChosen(own, 'required'), isChosen(ofClient, 'required')], [false, true])
  assert.deepEqual([isChosen(ofClient, { name: 'a' }), isChosen(ofClient, { name: 'b' })], [true, false])
  assert.deepEqual([isChosen(own, undefined), isChosen(ofClient, 'auto')], [true, true])
})
