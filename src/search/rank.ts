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
 * average passage that has each term once: at most `maxScore`. With `toRelated`, terms of related words count too. Frequencies are
 * counted over the visible passages alone: counts over all passages would reveal the content of passages that are withheld from the caller.
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

/** A passage with its score from 0 to 1. */
export interface Scored {
  id: number
  score: number
}

/** How much meaning counts beside words. Chosen on the tuning questions of `test/retrieval/`. */
export const mixture = {
  /** Weight of the meaning in a passage's score; the words have the rest. */
  weight: 0.7,
  /** Weight of related words in the meaning; the vectors have the rest. Related words change the order of hits, and alone make none. */
  related: 0.5,
  /** Cosine of texts that have nothing to do with each other. */
  floor: 0.1,
  /** A passage without a word of the query is a hit from this cosine on. */
  least: 0.2,
  /** Such a passage also has at least this part of the best score: where words fit well, the others are noise. */
  part: 0.5,
}

interface Signals {
  /** Scores of the passages with a word of the query (`scoreWords`). */
  words: WordScores
  /** Scores of the passages with a word of the query or a related word (`scoreRelatedWords`). Absent: they do not count. */
  related?: WordScores | undefined
  /** The cosine of passage and query; undefined for a passage without a vector. Absent: the query has no vector. */
  cosineOf?: ((id: number) => number | undefined) | undefined
}

/**
 * The best `limit` passages by a convex combination of words and meaning (Bruch, Gai and Ingber 2023), best first. A passage without a vector
 * is ranked by its words and related words. All parts have fixed ends, so that a score near 1 means a good answer and not merely the best one.
 */
export function mix(ids: Iterable<number>, signals: Signals, limit: number, weights = mixture): Scored[] {
  const best: Scored[] = []
  const isBetter = (a: Scored, b: Scored) => a.score > b.score || (a.score === b.score && a.id < b.id)
  const { words, cosineOf } = signals
  for (const id of cosineOf ? ids : words.keys()) {
    const score = scoreOf(id, signals, weights)
    if (score === undefined) continue
    const scored = { id, score }
    if (best.length === limit && !isBetter(scored, best[limit - 1]!)) continue
    const place = best.findIndex((other) => isBetter(scored, other))
    best.splice(place < 0 ? best.length : place, 0, scored)
    if (best.length > limit) best.pop()
  }
  return best.filter(({ id, score }) => words.has(id) || score >= weights.part * best[0]!.score)
}

/** Undefined for a passage that is no hit. */
function scoreOf(id: number, { words, related, cosineOf }: Signals, weights: typeof mixture): number | undefined {
  const [word, cosine] = [words.get(id), cosineOf?.(id)]
  if (word === undefined && (cosine === undefined || cosine < weights.least)) return undefined
  const coverage = toCoverage(word ?? 0)
  const near = cosine === undefined ? coverage : Math.max(0, (cosine - weights.floor) / (1 - weights.floor))
  const meaning = related ? (1 - weights.related) * near + weights.related * (related.get(id) ?? 0) : near
  return (1 - weights.weight) * coverage + weights.weight * meaning
}

/** From 0 to 1: 0.5 for a passage that has each word of the query once. A passage with few of the words gets little, as chance explains them. */
function toCoverage(wordScore: number): number {
  return wordScore ** 4 / (1 + wordScore ** 4)
}
