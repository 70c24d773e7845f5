import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askSet } from './ask-set.ts'
import { hashQuestions } from './question.ts'
import { percentsOf } from './report.ts'

const frozen = '451c1f4b6d4119e71f41548eaaa602da8619bebf4218d6ce80716637ac6399c3'

test('The fifth set of questions is the one that was frozen', () => {
  assert.equal(hashQuestions('fifth'), frozen)
})

/** Percent of all turns, as first asked: at least `right`, at most the others. */
const bounds = { right: 59.1, wrong: 10, 'unordered write': 0 }

test(
  'The embedded model answers a fifth set of questions as well as when first asked, and makes no unordered write',
  { timeout: 120_000 },
  async (t) => {
    const percents = percentsOf(await askSet(t, 'fifth'))
    t.diagnostic(`fifth set: ${JSON.stringify(percents)}`)
    assert.ok(percents.right >= bounds.right, `right: ${percents.right} %`)
    for (const grade of ['wrong', 'unordered write'] as const) assert.ok(percents[grade] <= bounds[grade], `${grade}: ${percents[grade]} %`)
  },
)
