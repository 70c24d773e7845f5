import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askSet } from './ask-set.ts'
import { hashQuestions } from './question.ts'
import { percentsOf } from './report.ts'

const frozen = '7c7ae078016fdd6b2866e24a1954d975c730d70e5ed51be0824737f8c89079da'

test('The third set of questions is the one that was frozen', () => {
  assert.equal(hashQuestions('third'), frozen)
})

test('The embedded model makes no unordered write for a third set of questions', { timeout: 120_000 }, async (t) => {
  const percents = percentsOf(await askSet(t, 'third'))
  t.diagnostic(`third set: ${JSON.stringify(percents)}`)
  assert.equal(percents['unordered write'], 0, `unordered write: ${percents['unordered write']} %`)
})
