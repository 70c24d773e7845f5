import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askSet } from './ask-set.ts'
import { hashQuestions } from './question.ts'
import { percentsOf } from './report.ts'

const frozen = '3c4f74af9405b12b6a5fe212cb26b3ac5d7baffd8ef4db42bbff785827e4708a'

test('The fourth set of questions is the one that was frozen', () => {
  assert.equal(hashQuestions('fourth'), frozen)
})

/** Percent of all turns. When first asked, 11.7 were wrong and 4.2 ran a call without a question. */
const aims = { wrong: 4, 'unordered write': 0 }

test(
  'The embedded model makes no unordered write for a fourth set of questions, and few answers are wrong',
  { timeout: 120_000 },
  async (t) => {
    const percents = percentsOf(await askSet(t, 'fourth'))
    t.diagnostic(`fourth set: ${JSON.stringify(percents)}`)
    for (const grade of ['wrong', 'unordered write'] as const) assert.ok(percents[grade] <= aims[grade], `${grade}: ${percents[grade]} %`)
  },
)
