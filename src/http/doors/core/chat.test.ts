import assert from 'node:assert/strict'
import { test } from 'node:test'
import { end, file, project, recorded, text } from '../events-fixture.ts'
import { chunksOf, streamChunks } from './chat.ts'

type Name = keyof typeof recorded

/** The chunks of a recorded run, each as its number, its label and its token or fields. */
function chunks(name: Name): unknown[] {
  return project(chunksOf('r'), recorded[name], name === 'files' ? [file] : []).map(({ number, token, agent_step, fields }) => [
    number,
    agent_step,
    fields ?? token,
  ])
}

/** The fields of the last chunk. */
const lastOf = (name: Name) => (chunks(name).at(-1) as [number, string, Record<string, unknown>])[2]

test('text and thoughts are tokens, with the number of their event', () => {
  assert.deepEqual(chunks('text').slice(0, -1), [
    [1, 'answer', 'Hel'],
    [2, 'answer', 'lo.'],
  ])
  assert.deepEqual(lastOf('text'), { finish_reason: 'stop', usage: end().usage, additional_context: undefined, error: undefined })
  assert.deepEqual(chunks('reasoning')[0], [1, 'reasoning', 'Hm.'])
})

test('tools in parallel are a chunk at their start, and a chunk with the step at their end', () => {
  const steps = chunks('tools in parallel').slice(1, 5) as [number, string, { step?: { output: string } }][]
  assert.deepEqual(
    steps.map(([number, label, more]) => [number, label, more.step?.output]),
    [
      [2, 'tool:look', undefined],
      [3, 'tool:count', undefined],
      [4, 'tool:count', 'count done'],
      [5, 'tool:look', 'look done'],
    ],
  )
})

test('a retry is a chunk without a token', () => {
  assert.deepEqual(chunks('retry')[1], [2, 'retrying', ''])
})

test('calls that wait end the stream with their list; a passed interruption is an ordinary chunk', () => {
  const waiting = (callId: string, tool: string, input: object) => ({
    request_id: 'r',
    calls: [{ tool_call_id: callId, tool, tool_input: input }],
  })
  const { usage: _, ...approvalFields } = lastOf('approval')
  assert.deepEqual(approvalFields, { finish_reason: 'approval_required', approval_required: waiting('c1', 'send', { to: 'Bob' }) })
  const { usage: __, ...clientFields } = lastOf('client tools')
  assert.deepEqual(clientFields, { finish_reason: 'tool_calls', client_tool_calls: waiting('c2', 'get_place', {}) })
  assert.deepEqual(chunksOf('r').take(recorded.approval[1], 2), [{ number: 2, token: '', agent_step: 'answer' }])
})

test('the end has the error, the sources and the files', () => {
  assert.deepEqual([lastOf('failure')['finish_reason'], lastOf('cancel')['finish_reason']], ['error', 'cancelled'])
  assert.equal((lastOf('failure')['error'] as { body: string }).body, 'The model is gone.')
  assert.deepEqual(lastOf('files')['generated_artifacts'], [file])
  assert.equal((lastOf('sources')['additional_context'] as unknown[]).length > 0, true)
})

test('each chunk is an event with an id, and has the five fields', () => {
  const stream = streamChunks('r')
  const sent = stream.take(text('a "b"'), 1) + stream.last(end({ usage: [] }), 2, [])
  assert.equal(
    sent,
    'id: r:1\ndata: {"id":"r","token":"a \\"b\\"","agent_step":"answer","finish_reason":"null","usage":[]}\n\n' +
      'id: r:2\ndata: {"id":"r","token":"","agent_step":"answer","finish_reason":"stop","usage":[]}\n\n',
  )
})
