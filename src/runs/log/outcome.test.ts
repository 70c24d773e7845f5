import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { Step } from '../../agent/events.ts'
import { collect, errorOf, outputOf } from './outcome.ts'
import type { EndEvent, LoggedEvent } from '../run.ts'

const answer = (text: string): LoggedEvent => ({ type: 'text', label: 'answer', text })
const end: EndEvent = { type: 'end', reason: 'stop', usage: [], thoughts: [] }

function step(id: string, startedAt: number, traits: Partial<Step> = {}): Step {
  const ended = { log: 'Done.', output: 5, status: 'success', durationMs: 250 } as const
  return { id, type: 'tool_call', tool: 'add', input: { a: 2 }, startedAt, ...ended, ...traits }
}

test('the output is the answer text after the last event with another label', () => {
  const between: LoggedEvent[] = [
    { type: 'text', label: 'reasoning', text: 'r' },
    { type: 'text', label: 'planning', text: 'p' },
    { type: 'retrying' },
    { type: 'step_start', step: step('c1', 1) },
    { type: 'step_end', step: step('c1', 1) },
  ]
  for (const event of between) {
    assert.equal(outputOf([answer('a'), event, answer('b'), answer('c'), end]), 'bc')
    assert.equal(outputOf([answer('a'), event, end]), '')
  }
  assert.equal(outputOf([answer('a'), answer('b'), end]), 'ab')
  assert.equal(outputOf([]), '')
})

test('a log is collected into the answer, with the steps in order of start', () => {
  const reasoningStep = step('t1', 100, { type: 'reasoning', tool: 'scripted-1', input: {}, log: 'Hm.', output: 'Hm.', durationMs: 50 })
  const failed = step('c2', 300, { status: 'error', output: { error: 'no' }, log: 'no' })
  const usage = [{ costAttribute: 'scripted-1', usage: 15, unit: 'tokens' as const }]
  const last: EndEvent = { ...end, usage, thoughts: [reasoningStep] }
  const events: LoggedEvent[] = [
    { type: 'step_start', step: step('c1', 200) },
    { type: 'step_end', step: failed },
    { type: 'step_end', step: step('c1', 200) },
    answer('5'),
    last,
  ]
  const { answer: collected, end: collectedEnd } = collect('2 + 3?', events)
  assert.equal(collectedEnd, last)
  assert.deepEqual(
    collected.intermediate_steps.map(({ type, status }) => `${type} ${status}`),
    ['reasoning success', 'tool_call success', 'tool_call error'],
  )
  assert.deepEqual(
    { ...collected, intermediate_steps: collected.intermediate_steps.slice(1, 2) },
    {
      input: '2 + 3?',
      output: '5',
      intermediate_steps: [
        {
          tool: 'add',
          tool_input: { a: 2 },
          log: 'Done.',
          type: 'tool_call',
          output: 5,
          status: 'success',
          execution_time: 0.25,
          started_at: '1970-01-01T00:00:00.200Z',
        },
      ],
      usage,
    },
  )
})

test('steps of the same millisecond are ordered: plan, thought, tool calls', () => {
  const reasoningStep = step('t1', 100, { type: 'reasoning' })
  const steps = [step('c1', 100), step('p1', 100, { type: 'planning' })]
  const events: LoggedEvent[] = [
    ...steps.map((ended) => ({ type: 'step_end' as const, step: ended })),
    { ...end, thoughts: [reasoningStep] },
  ]
  assert.deepEqual(
    collect('', events).answer.intermediate_steps.map(({ type }) => type),
    ['planning', 'reasoning', 'tool_call'],
  )
})

test('calls that begin in the same millisecond are in the order of their begin, whichever ends first', () => {
  const [first, second] = [step('c2', 100, { tool: 'first' }), step('c1', 100, { tool: 'second' })]
  const starts = [first, second].map((begun): LoggedEvent => ({ type: 'step_start', step: begun }))
  const ends = [second, first].map((ended): LoggedEvent => ({ type: 'step_end', step: ended }))
  const steps = collect('', [...starts, ...ends, end]).answer.intermediate_steps
  assert.deepEqual(
    steps.map(({ tool }) => tool),
    ['first', 'second'],
  )
})

test('a log without an end cannot be collected', () => {
  assert.throws(() => collect('', [answer('a')]), /has ended/)
  assert.throws(() => collect('', []), /has ended/)
})

test('a failed or cancelled run has an error; a run that reached a limit of time or calls has none', () => {
  const error = { body: 'no', status_code: 502 }
  assert.equal(errorOf({ ...end, reason: 'error', error }), error)
  assert.deepEqual(errorOf({ ...end, reason: 'cancelled' }), {
    body: 'The run was cancelled.',
    status_code: 409,
    details: { error_type: 'Cancelled' },
  })
  for (const reason of ['stop', 'length', 'content_filter', 'max_iterations', 'timeout'] as const) {
    assert.equal(errorOf({ ...end, reason }), undefined, reason)
  }
})
