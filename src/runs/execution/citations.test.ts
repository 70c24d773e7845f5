import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { Step } from '../../agent/events.ts'
import { citationsOf } from './citations.ts'
import { workSince } from '../../../test/fixtures/work-meter.ts'

const leave = {
  ...{ file: 'hr/leave.md', heading: 'Annual leave', start: 100, metadata: {} },
  text: 'Everybody has 25 days of leave. Unused days expire in March.',
  end: 160,
}
const travel = {
  file: 'travel.pdf',
  document_id: 'd1',
  heading: 'Page 2',
  page: 2,
  start: 30,
  end: 59,
  text: 'Trains are booked first class',
}

function step(output: Step['output'], more: Partial<Step> = {}): Step {
  const base = { id: '1', type: 'tool_call', tool: 'handbook', input: {}, startedAt: 0, log: '', status: 'success', durationMs: 1 } as const
  return { ...base, output, ...more }
}

const cite = (answer: string, steps = [step({ passages: [leave, travel] })]) => citationsOf(() => answer, steps)

test('a sentence of the answer cites the sentence of a passage, with both places', () => {
  const answer = 'Yes. You have 25 days of leave, according to hr/leave.md.\nTrains are booked in first class (travel.pdf, page 2).'
  const [first, second, ...others] = cite(answer)
  assert.deepEqual(others, [])
  assert.deepEqual(first, {
    ...{ tool: 'handbook', file: 'hr/leave.md', heading: 'Annual leave', start: 100, end: 131, text: 'Everybody has 25 days of leave.' },
    ...{ answerStart: 5, answerEnd: 57 },
  })
  assert.equal(answer.slice(first?.answerStart, first?.answerEnd), 'You have 25 days of leave, according to hr/leave.md.')
  assert.deepEqual([second?.documentId, second?.page, second?.start, second?.end], ['d1', 2, 30, 59])
  assert.equal(answer.slice(second?.answerStart, second?.answerEnd), 'Trains are booked in first class (travel.pdf, page 2).')
})

test('what no passage says is not cited', () => {
  for (const answer of ['You have 30 days of leave.', 'The weather is fine today.', 'Yes.', '']) {
    assert.deepEqual(cite(answer), [], answer)
  }
})

test('sentences about the same place are one citation', () => {
  const answer = 'Everybody has 25 days of leave. So that is 25 days of leave.'
  assert.deepEqual(
    cite(answer).map(({ answerStart, answerEnd }) => [answerStart, answerEnd]),
    [[0, answer.length]],
  )
})

test('passages of failed calls and outputs of another shape are not cited', () => {
  const outputs = [
    step({ passages: [leave] }, { status: 'error' }),
    step({ passages: [{ ...leave, start: -1 }, 5, null, { file: 'x' }] }),
    step({ passages: 'none' }),
    step('Everybody has 25 days of leave.'),
  ]
  assert.deepEqual(cite('Everybody has 25 days of leave.', outputs), [])
})

test('a passage whose heading alone is named is cited as a whole, even without text', () => {
  const empty = { ...leave, text: '', end: 100 }
  const [citation] = cite('See annual leave in leave.md.', [step({ passages: [empty] })])
  assert.deepEqual([citation?.text, citation?.start, citation?.end], ['', 100, 100])
})

test('citing takes bounded time', () => {
  const work = workSince()
  const passages = Array.from({ length: 400 }, (_, number) => ({ ...leave, file: `${number}.md`, text: `${leave.text} `.repeat(20) }))
  assert.ok(cite('Everybody has 25 days of leave and more of it. '.repeat(5_000), [step({ passages })]).length <= 50)
  assert.ok(work() < 1_000)
})
