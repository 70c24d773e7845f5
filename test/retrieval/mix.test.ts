import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openSearches, type Searches } from './encoders.ts'
import { kinds, loadQuestions, type Kind } from './question-set.ts'
import { formatRecall, measureRecall, type Recall } from './recall.ts'

const heldOut = loadQuestions().filter(({ split }) => split === 'held-out')
let searches: Searches
before(async () => {
  searches = await openSearches(heldOut)
})
after(() => searches.close())

/** The least shares of held-out questions for the mix. No word of a paraphrase is in its passage: the encoder and related words decide there. */
const bounds: Partial<Record<Kind, Partial<Recall>>> = {
  paraphrases: { first: 0.44, firstThree: 0.65 },
  'mixed-words': { first: 0.87, firstThree: 0.95 },
  'own-words': { first: 1, firstThree: 1 },
}

test('words and meaning together find more than either, and lose no question in the words of the text', async (t) => {
  const measured = {
    words: await measureRecall(heldOut, searches.words),
    encoder: await measureRecall(heldOut, searches.meaning),
    mix: await measureRecall(heldOut, searches.mix),
  }
  t.diagnostic(`held-out questions\n${formatRecall(measured)}`)
  for (const kind of kinds) {
    for (const [measure, bound] of Object.entries(bounds[kind] ?? {})) {
      const share = measured.mix[kind]?.[measure as keyof Recall] ?? 0
      assert.ok(share >= bound, `${measure} of ${kind} is ${share}, not at least ${bound}`)
    }
  }
})
