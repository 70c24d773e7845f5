import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePlan, saysFailed } from './plan.ts'
import { workSince } from '../../test/fixtures/work-meter.ts'

const cases: [string, string[] | undefined][] = [
  ['["Look.", "Answer."]', ['Look.', 'Answer.']],
  ['Here it is:\n```json\n["Look.",\n "Answer."]\n```\nShall I begin?', ['Look.', 'Answer.']],
  ['[1] says so. The plan is ["Look."] as asked.', ['Look.']],
  ['{"steps": [{"step": "Look."}, {"number": 2, "description": "Answer."}, {"do": "More."}]}', ['Look.', 'Answer.', 'More.']],
  ['1. Look.\n2) Answer.\n', ['Look.', 'Answer.']],
  ['["", "  a \\n b "]', ['a b']],
  ['[]', []],
  ['I can not plan.', undefined],
  ['1. is a number', undefined],
  ['["broken', undefined],
]

for (const [text, steps] of cases) {
  test(`a plan in ${JSON.stringify(text.slice(0, 40))}`, () => assert.deepEqual(parsePlan(text), steps))
}

test('the size of a plan is limited, and so is the time to parse it', () => {
  assert.equal(parsePlan(JSON.stringify(Array.from({ length: 40 }, () => 'x'.repeat(500))))?.length, 12)
  assert.equal(parsePlan(JSON.stringify(['x'.repeat(5000)]))?.[0]?.length, 1000)
  const work = workSince()
  assert.equal(parsePlan('['.repeat(200_000) + ']'), undefined)
  assert.ok(work() < 500)
})

test('a step reports a failure at the beginning of its text', () => {
  assert.deepEqual(['FAILED: no.', '**Failed** to', 'It failed.', 'Failedness'].map(saysFailed), [true, true, false, false])
})
