import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askSet } from './ask-set.ts'
import { hashQuestions } from './question.ts'
import { percentsOf } from './report.ts'

const frozen = '982f5b559cc35f787bfc3facb0645bdc56374fb610ef84b6058b7947ea0fcf6b'

/** Loose bounds in percent of all turns: at least `right`, at most the others. At its first run the set had 62 right, 28 asked and 10 wrong; general rules made of them since have been read with the set at hand. */
const bounds = { right: 92, asked: 8, wrong: 0.5, 'unordered write': 0 }

test('The second set of questions is the one that was frozen', () => {
  assert.equal(hashQuestions('second'), frozen)
})

test('The embedded model answers a second set of questions and makes no unordered write', { timeout: 120_000 }, async (t) => {
  const percents = percentsOf(await askSet(t, 'second'))
  t.diagnostic(`second set: ${JSON.stringify(percents)}`)
  assert.ok(percents.right >= bounds.right, `right: ${percents.right} %`)
  for (const grade of ['asked', 'wrong', 'unordered write'] as const)
    assert.ok(percents[grade] <= bounds[grade], `${grade}: ${percents[grade]} %`)
})
