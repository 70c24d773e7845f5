import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Chunk } from '../../../../client/src/index.ts'
import { addChunks, addProgress, emptyAnswer, outputOf, toParts, toSources, type Answer } from './answer.ts'

let number = 0
const chunk = (agent_step: string, token = '', rest: Partial<Chunk> = {}): Chunk => ({
  id: 'r',
  number: ++number,
  token,
  agent_step,
  finish_reason: 'null',
  usage: [],
  ...rest,
})
const step = (tool: string, sub_agent?: string): Chunk['step'] => ({
  tool,
  tool_input: {},
  log: '',
  type: tool.startsWith('sub_agent:') ? 'sub_agent_call' : 'tool_call',
  output: 'done',
  status: 'success',
  execution_time: 0.1,
  started_at: '2026-01-01T00:00:00.000Z',
  ...(sub_agent && { sub_agent }),
})
const fold = (...chunks: Chunk[]) => addChunks(emptyAnswer, chunks)

test('tokens of one label become one part', () => {
  const { parts } = fold(chunk('reasoning', 'a'), chunk('reasoning', 'b'), chunk('answer', 'c'), chunk('answer', 'd'))
  assert.deepEqual(parts, [
    { type: 'thought', kind: 'reasoning', text: 'ab' },
    { type: 'text', text: 'cd' },
  ])
})

test('a step that ends takes the place where it started', () => {
  const started = fold(chunk('answer', 'Looking.'), chunk('tool:a'), chunk('tool:b'))
  const answer = addChunks(started, [chunk('tool:a', '', { step: step('a') })])
  const states = answer.parts.map((part) => (part.type === 'step' ? [part.name, part.step?.status] : part.type))
  assert.deepEqual(states, ['text', ['a', 'success'], ['b', undefined]])
  assert.equal(answer.parts[0], started.parts[0], 'an unchanged part keeps its identity')
})

test('the steps of a sub-agent stand in its call', () => {
  const { parts } = fold(
    chunk('sub_agent:helper'),
    chunk('tool:a'),
    chunk('tool:a', '', { step: step('a', 'helper') }),
    chunk('sub_agent:helper', '', { step: step('sub_agent:helper') }),
  )
  assert.equal(parts.length, 1)
  const [call] = parts
  assert.deepEqual(call?.type === 'step' && call.inner.map(({ name }) => name), ['a'])
  const stored = toParts([step('sub_agent:helper')!, step('a', 'helper')!], 'Done.')
  assert.deepEqual(
    stored.map(({ type }) => type),
    ['step', 'text'],
  )
})

test('a retried answer begins anew behind the last step', () => {
  const answer = fold(chunk('tool:a', '', { step: step('a') }), chunk('answer', 'half'), chunk('retrying'), chunk('answer', 'whole'))
  assert.equal(outputOf(answer), 'whole')
  assert.equal(answer.parts.length, 2)
})

test('an interruption waits until the next chunk, and an end is final', () => {
  const approval = { request_id: 'r', calls: [{ tool_call_id: 'c', tool: 'a', tool_input: {} }] }
  const waiting = fold(chunk('answer', '', { finish_reason: 'approval_required', approval_required: approval }))
  assert.deepEqual([waiting.status, waiting.approval], ['waiting', approval])
  const resumed = addChunks(waiting, [chunk('tool:a')])
  assert.deepEqual([resumed.status, resumed.approval], ['running', undefined])
  const ended = addChunks(resumed, [chunk('answer', '', { finish_reason: 'stop' })])
  assert.deepEqual([ended.status, ended.finishReason], ['ended', 'stop'])
})

test('text that is repeated behind a call of the provider is shown once, with the rest', () => {
  const search = [chunk('tool:search'), chunk('tool:search', '', { step: step('search') })]
  const { parts } = fold(chunk('answer', 'I look. '), ...search, chunk('answer', 'I look. '), chunk('answer', 'It is so.'))
  assert.deepEqual(
    parts.map((part) => (part.type === 'text' ? part.text : part.type)),
    ['step', 'I look. It is so.'],
  )
})

test('the sources of an answer are its web pages, each once, without addresses that could run code', () => {
  const items = [
    { content: '', url: 'https://a.example/', title: 'A' },
    { content: '', url: 'https://a.example/', title: 'A' },
    { content: '', url: 'javascript:alert(1)', title: 'B' },
    { content: 'x', file: 'handbook.md' },
  ]
  assert.deepEqual(toSources([{ context_type: 'citations', items }]), [{ url: 'https://a.example/', title: 'A' }])
})

test('progress is shown in the running step of its tool, and goes with the end of the step', () => {
  const report = { tool_call_id: 'c', agent_step: 'tool:a', progress: 1, total: 3, message: '<b>half</b>' }
  const started = fold(chunk('tool:b'), chunk('tool:a'))
  const lines = ({ parts }: Answer) => parts.map((part) => part.type === 'step' && part.progress)
  assert.deepEqual(lines(addProgress(started, report)), [undefined, '1 of 3: <b>half</b>'])
  assert.deepEqual(lines(addProgress(started, { ...report, agent_step: 'tool:gone' })), [undefined, undefined])
  assert.deepEqual(lines(addChunks(addProgress(started, report), [chunk('tool:a', '', { step: step('a') })])), [undefined, undefined])
})
