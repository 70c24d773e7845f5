import type { WordScores } from './bm25.ts'

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
