import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askSet } from './ask-set.ts'
import { hashQuestions } from './question.ts'
import { percentsOf } from './report.ts'

const frozen = '71dbbe5d65036561b81967796b55a156b9667cfe5d32f94ebdabbbac3b0a9996'

/** Percent of all turns. */
const aims = { right: 75, asked: 20, wrong: 3, 'unordered write': 0 }
/** What the embedded model reaches now: at least `right`, at most the others. */
const reached = { right: 90, asked: 8.5, wrong: 1.5, 'unordered write': 0 }

test('The questions, the shop and the expected answers are those that were frozen', () => {
  assert.equal(hashQuestions('first'), frozen)
})

test('The embedded model answers people who ask the samples and a shop', { timeout: 120_000 }, async (t) => {
  const percents = percentsOf(await askSet(t, 'first'))
  t.diagnostic(`aims: ${JSON.stringify(aims)}, reached: ${JSON.stringify(percents)}`)
  assert.ok(percents.right >= reached.right, `right: ${percents.right} %`)
  for (const grade of ['asked', 'wrong', 'unordered write'] as const)
    assert.ok(percents[grade] <= reached[grade], `${grade}: ${percents[grade]} %`)
})
