import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { corpora, fileOfKind, kinds, loadQuestions, type Corpus, type Kind, type Question } from './question-set.ts'
import { sectionsOf } from './sections.ts'
import { contentStems, sharedStems } from './word-overlap.ts'

/** SHA-256 over the documents of both corpora and the questions. Figures are comparable only while all of them stay the same. */
const frozenHash = '1118b6247c64f155469bb2ffa92599f6d4e887d0452fc5f845b5d861da4d4777'

const questions = loadQuestions()
const sections = { handbook: sectionsOf('handbook'), cooperative: sectionsOf('cooperative') }
const ofKind = (kind: Kind) => questions.filter((question) => question.kind === kind)

/** The text of all passages that answer the question. */
function answerTo({ text, corpus, passages }: Question): string {
  const texts = passages.map(({ file, heading }) => {
    const section = sections[corpus].find((candidate) => candidate.file === file && candidate.heading === heading)
    assert.ok(section, `"${text}" expects ${file}#${heading}, which ${corpus} does not have`)
    return section.text
  })
  return texts.join('\n')
}

/** Share of the content words of a question that its passages have too. */
function overlapOf(question: Question): number {
  return sharedStems(question.text, answerTo(question)).length / contentStems(question.text).size
}

const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

test('documents and questions are frozen', () => {
  const files = [...Object.keys(corpora).flatMap((corpus) => documentsOf(corpus as Corpus)), ...kinds.map(fileOfKind)]
  const hash = createHash('sha256')
  for (const file of files) hash.update(`${path.basename(file)}\n`).update(readFileSync(file))
  assert.equal(
    hash.digest('hex'),
    frozenHash,
    'A changed document or question makes older figures incomparable: measure again, then set the new hash.',
  )
})

function documentsOf(corpus: Corpus): string[] {
  return readdirSync(corpora[corpus])
    .toSorted()
    .map((file) => path.join(corpora[corpus], file))
}

test('each question is asked once, and its passages exist', () => {
  assert.equal(new Set(questions.map(({ text }) => text)).size, questions.length)
  for (const question of questions) {
    assert.equal(question.passages.length === 0, question.kind === 'unanswerable', question.text)
    answerTo(question)
  }
})

test('most passages have a question, and a third of the questions is for tuning', () => {
  const asked = new Set(questions.flatMap(({ corpus, passages }) => passages.map(({ file, heading }) => `${corpus}/${file}#${heading}`)))
  assert.ok(asked.size > 0.95 * (sections.handbook.length + sections.cooperative.length))
  const counts = Object.fromEntries(kinds.map((kind) => [kind, countSplits(ofKind(kind))]))
  assert.deepEqual(counts, {
    paraphrases: [75, 158],
    'mixed-words': [30, 56],
    'own-words': [22, 61],
    'other-languages': [7, 13],
    unanswerable: [3, 12],
  })
})

function countSplits(of: readonly Question[]): [tuning: number, heldOut: number] {
  const tuning = of.filter(({ split }) => split === 'tuning').length
  return [tuning, of.length - tuning]
}

test('paraphrases share no content word with their passages, mixed words about half, own words nearly all', (t) => {
  for (const question of ofKind('paraphrases')) assert.equal(overlapOf(question), 0, question.text)
  const mixed = meanOf(ofKind('mixed-words').map(overlapOf))
  const own = meanOf(ofKind('own-words').map(overlapOf))
  t.diagnostic(`content words shared with the passage: paraphrases 0, mixed words ${mixed.toFixed(2)}, own words ${own.toFixed(2)}`)
  assert.ok(mixed > 0.4 && mixed < 0.7)
  assert.ok(own > 0.95)
})

test('inflected words share a stem, and function words have none', () => {
  assert.deepEqual(sharedStems('Which policies are cancelled?', 'The policy of cancelling what which are'), ['polic', 'cancel'])
})
