import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toQuestion } from './question.ts'

test('a question of a server is told from a call that waits for approval', () => {
  const schema = { type: 'object', properties: { seat: { type: 'string' } } }
  const input = { server: 'desk', question: 'Which seat?', answer_schema: schema }
  assert.deepEqual(toQuestion({ tool_call_id: 'c:1_1', tool_input: input }), { server: 'desk', text: 'Which seat?', schema })
  const visit = { server: 'desk', question: 'Please pay.', url: 'https://pay.example/1' }
  assert.deepEqual(toQuestion({ tool_call_id: 'c:1_1', tool_input: visit }), { server: 'desk', text: 'Please pay.', url: visit.url })
  assert.equal(toQuestion({ tool_call_id: 'c', tool_input: input }), undefined)
  assert.equal(toQuestion({ tool_call_id: 'c:1_1', tool_input: 'text' }), undefined)
})
