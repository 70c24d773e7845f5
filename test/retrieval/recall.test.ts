import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Kind, Question } from './question-set.ts'
import { formatRecall, measureRecall } from './recall.ts'

const right = { file: 'a.md', heading: 'Right' }
const alsoRight = { file: 'b.md', heading: 'Right too' }
const wrong = { file: 'a.md', heading: 'Wrong' }
/** The heading of a right passage in another file. */
const elsewhere = { file: 'c.md', heading: 'Right' }

function ask(text: string, kind: Kind = 'paraphrases', passages = [right, alsoRight]): Question {
  return { text, kind, corpus: 'handbook', passages, split: 'held-out' }
}

const found: Record<string, (typeof right)[]> = {
  first: [right, wrong],
  'other first': [alsoRight, wrong],
  third: [wrong, elsewhere, alsoRight, right],
  fourth: [wrong, elsewhere, wrong, right],
  missing: [wrong, elsewhere],
  nothing: [],
}
const search = ({ text }: Question) => Promise.resolve(found[text] ?? [])

test('recall counts the rank of the first passage that answers a question', async () => {
  const { paraphrases } = await measureRecall(
    Object.keys(found).map((text) => ask(text)),
    search,
  )
  assert.deepEqual(paraphrases, {
    questions: 6,
    first: 2 / 6,
    firstThree: 3 / 6,
    reciprocalRank: (1 + 1 + 1 / 3 + 1 / 4) / 6,
    empty: 1 / 6,
  })
})

test('each kind of questions is measured alone, and a missing kind has no row', async () => {
  const questions = [ask('first', 'own-words'), ask('missing'), ask('nothing', 'unanswerable', []), ask('first', 'unanswerable', [])]
  const measured = await measureRecall(questions, search)
  assert.equal(measured['own-words']?.first, 1)
  assert.equal(measured.paraphrases?.first, 0)
  assert.equal(measured['other-languages'], undefined)
  assert.equal(measured.unanswerable?.empty, 0.5)
  const rows = formatRecall({ BM25: measured }).split('\n').slice(1)
  assert.deepEqual(
    rows.map((row) => row.split(/ {2,}/).slice(0, 7)),
    [
      ['BM25', 'paraphrases', '1', '0.00', '0.00', '0.00', '0.00'],
      ['BM25', 'own-words', '1', '1.00', '1.00', '1.00', '0.00'],
      ['BM25', 'unanswerable', '2', '-', '-', '-', '0.50'],
    ],
  )
})
