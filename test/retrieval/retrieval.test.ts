import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { openKnowledgeTools } from './knowledge-tool.ts'
import { kinds, loadQuestions, type Kind } from './question-set.ts'
import { formatRecall, measureRecall, type Recall, type Search } from './recall.ts'

let cacheDir: string
let tools: { search: Search; close(): Promise<void> }
before(async () => {
  cacheDir = await mkdtemp(path.join(tmpdir(), 'retrieval-'))
  tools = await openKnowledgeTools(cacheDir)
})
after(async () => {
  await tools.close()
  await rm(cacheDir, { recursive: true })
})

/** The least shares of held-out questions: those of a search by words alone. */
const bounds: Record<Kind, Partial<Recall>> = {
  paraphrases: { first: 0.02, firstThree: 0.04, reciprocalRank: 0.03 },
  'mixed-words': { first: 0.77, firstThree: 0.94, reciprocalRank: 0.86 },
  'own-words': { first: 1, firstThree: 1, reciprocalRank: 1 },
  'other-languages': { first: 0.23, firstThree: 0.23, reciprocalRank: 0.23 },
  unanswerable: { empty: 0.16 },
}

test('knowledge_search finds the passages of held-out questions at least as often as words alone do', async (t) => {
  const heldOut = loadQuestions().filter(({ split }) => split === 'held-out')
  const measured = await measureRecall(heldOut, tools.search)
  t.diagnostic(`held-out questions\n${formatRecall({ words: measured })}`)
  for (const kind of kinds) {
    for (const [measure, bound] of Object.entries(bounds[kind])) {
      const share = measured[kind]?.[measure as keyof Recall] ?? 0
      assert.ok(share >= bound, `${measure} of ${kind} is ${share}, not at least ${bound}`)
    }
  }
})
