import type { Embedder } from '../../src/agent/model.ts'
import { createEncoder } from '../../src/search/encoder/encoder.ts'
import { MemoryTier } from '../../src/search/memory-tier.ts'
import type { Tier } from '../../src/search/retriever.ts'
import { toByteVector } from '../../src/search/vectors.ts'
import type { Corpus, Passage, Question } from './question-set.ts'
import type { Search } from './recall.ts'
import { sectionsOf } from './sections.ts'

/** The three searches of the same passages: by words, by meaning, and by both. */
export interface Searches {
  words: Search
  meaning: Search
  mix: Search
  close(): Promise<void>
}

const limit = 8
const signal = new AbortController().signal

/** Indexes both corpora, and the questions, with the embedded encoder. */
export async function openSearches(questions: readonly Question[]): Promise<Searches> {
  const encoder = createEncoder()
  const tiers = { handbook: await index('handbook', encoder), cooperative: await index('cooperative', encoder) }
  const english = questions.map(({ text }) => text).filter((text) => encoder.knows?.(text))
  const vectors = await encode(english, encoder)

  async function search({ text, corpus }: Question, query: string, isByMeaning: boolean): Promise<Passage[]> {
    const vector = isByMeaning ? vectors.get(text) : undefined
    const hits = await tiers[corpus].search(query, { limit, vector: vector && { encoder: encoder.name, ...toByteVector(vector) } })
    return hits.map(({ document, heading }) => ({ file: document, heading: heading.split(' > ').at(-1)! }))
  }
  return {
    words: (question) => search(question, question.text, false),
    // A query without words leaves the meaning alone.
    meaning: (question) => search(question, '', true),
    mix: (question) => search(question, question.text, true),
    close: encoder.close,
  }
}

async function index(corpus: Corpus, encoder: Embedder): Promise<Tier> {
  const tier = new MemoryTier()
  for (const [file, sections] of Map.groupBy(sectionsOf(corpus), (section) => section.file)) {
    const passages = sections.map(({ heading, text }) => {
      const [title = '', , ...lines] = text.split('\n')
      return { heading: title === heading ? heading : `${title} > ${heading}`, text: lines.join('\n') }
    })
    await tier.put({ id: file, version: '1', passages })
  }
  const missing = await tier.missing(encoder.name, Number.POSITIVE_INFINITY)
  const vectors = await encode(
    missing.map(({ text }) => text),
    encoder,
  )
  await tier.setVectors(encoder.name, new Map(missing.map(({ hash, text }) => [hash, toByteVector(vectors.get(text)!).values])))
  return tier
}

/** Short texts in large batches take the least time. */
async function encode(texts: readonly string[], encoder: Embedder): Promise<Map<string, number[]>> {
  const vectors = new Map<string, number[]>()
  for (let start = 0; start < texts.length; start += 24) {
    const batch = texts.slice(start, start + 24)
    const lists = await encoder.embed(batch, signal)
    for (const [at, text] of batch.entries()) vectors.set(text, lists[at]!)
  }
  return vectors
}
