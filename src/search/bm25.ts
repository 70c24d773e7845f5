import { toQueryTerms } from './terms.ts'

/** The occurrences of terms in indexed passages. */
export interface Postings {
  /** Passage ids and counts in turns. */
  of(term: string): ArrayLike<number>
  /** Indexed terms that begin with the term and have at most `letters` letters more, and those of `prefixes` that are indexed. */
  related(term: string, letters: number, prefixes: readonly string[]): readonly string[]
}

/** The passages that a search may see, at the indexes of their ids. */
export interface VisiblePassages {
  /** 1 for a visible passage, otherwise 0. */
  flags: Uint8Array
  /** Numbers of terms. */
  lengths: ArrayLike<number>
  /** Visible passages. */
  count: number
  /** Terms of all visible passages together. */
  totalLength: number
}

/** The scores of passages with a term of the query, by id; `get` returns undefined for the others. */
export type WordScores = Pick<ReadonlyMap<number, number>, 'get' | 'has' | 'keys'>

const saturation = 1.2
const lengthWeight = 0.75
/** Weight of a word with the same beginning (travel, travelling). */
const prefixWeight = 0.4
const prefixLetters = 4
/** Weight of a word with a related meaning (travel, trip). */
const relatedWeight = 0.8
/** No passage scores more. */
export const maxScore = saturation + 1

/**
 * Okapi BM25 (Robertson and Zaragoza 2009) of each visible passage with a term of the query, as a multiple of the score of an
 * average passage that has each term once: at most `maxScore`. With `toRelated`, terms of related words count too. Frequencies are counted over the visible passages alone: counts over all passages would
 * reveal the content of passages that are withheld from the caller.
 */
export function scoreWords(
  query: string,
  postings: Postings,
  { flags, lengths, count, totalLength }: VisiblePassages,
  toRelated: (term: string) => readonly string[] = () => [],
): WordScores {
  const scores = new Float64Array(flags.length)
  const occurrences = createOccurrences(flags)
  const averageLength = totalLength / Math.max(1, count)
  let ceiling = 0
  for (const term of toQueryTerms(query)) {
    occurrences.clear()
    for (const [variant, weight] of toVariants(term, postings, toRelated(term))) occurrences.add(postings.of(variant), weight)
    const ids = occurrences.ids()
    const { counts } = occurrences
    const rarity = Math.log(1 + (count - ids.length + 0.5) / (ids.length + 0.5))
    ceiling += rarity
    for (let index = 0; index < ids.length; index++) {
      const id = ids[index]!
      const relativeLength = 1 - lengthWeight + (lengthWeight * lengths[id]!) / averageLength
      scores[id]! += (rarity * counts[id]! * (saturation + 1)) / (counts[id]! + saturation * relativeLength)
    }
  }
  for (let id = 0; id < scores.length; id++) scores[id]! /= ceiling
  return toWordScores(scores)
}

type AddPostings = (list: ArrayLike<number>, weight: number) => void

/** The term, related terms and indexed words with the same beginning, each with its weight. */
function toVariants(term: string, postings: Postings, relatedTerms: readonly string[]): Map<string, number> {
  const variants = new Map<string, number>()
  if (term.length >= 4) {
    const prefixes = [1, 2, 3, 4].map((letters) => term.slice(0, -letters)).filter((prefix) => prefix.length >= 5)
    for (const variant of postings.related(term, prefixLetters, prefixes)) variants.set(variant, prefixWeight)
  }
  for (const related of relatedTerms) variants.set(related, relatedWeight)
  return variants.set(term, 1)
}

/** Counts of a term in visible passages. Arrays by id are many times faster than maps where a term is in thousands of passages. */
function createOccurrences(flags: Uint8Array) {
  const counts = new Float64Array(flags.length)
  const found = new Uint32Array(flags.length)
  let size = 0
  const add: AddPostings = (list, weight) => {
    for (let index = 0; index < list.length; index += 2) {
      const id = list[index]!
      if (flags[id] !== 1) continue
      if (counts[id] === 0) found[size++] = id
      counts[id]! += weight * list[index + 1]!
    }
  }
  return {
    counts,
    add,
    /** Passages with a count. */
    ids: () => found.subarray(0, size),
    clear() {
      for (let index = 0; index < size; index++) counts[found[index]!] = 0
      size = 0
    },
  }
}

/** A score of 0 stands for a passage without a term of the query: each occurrence counts more than nothing. */
function toWordScores(scores: Float64Array): WordScores {
  const has = (id: number) => (scores[id] ?? 0) > 0
  return {
    has,
    get: (id) => (has(id) ? scores[id] : undefined),
    keys: () => scores.keys().filter(has),
  }
}
