import assert from 'node:assert/strict'
import { test } from 'node:test'
import { indexOfQuestion } from './index-of-question.ts'

const human = (content: string) => ({ role: 'human', content }) as const
const ai = (request_id: string) => ({ role: 'ai', content: 'An answer.', response_metadata: { request_id } }) as const
const messages = [human('Hello'), ai('r1'), human('It failed.'), human('Hello'), ai('r2'), human('Hello again')]

test('a question stands before the answer of its run', () => {
  assert.deepEqual([indexOfQuestion(messages, 'r1', 'Hello'), indexOfQuestion(messages, 'r2', 'Hello')], [0, 3])
})

test('messages to the run are no questions', () => {
  const steered = [human('Hello'), { ...human('Shorter.'), message_id: 'm1' }, ai('r1')]
  assert.equal(indexOfQuestion(steered, 'r1', 'Hello'), 0)
})

test('the question of a failed run is found by its text, else the copy has the whole conversation', () => {
  assert.equal(indexOfQuestion(messages, 'failed', 'It fail'), 2)
  assert.equal(indexOfQuestion(messages, 'other', 'Never asked'), 6)
})
