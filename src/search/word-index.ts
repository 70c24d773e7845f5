import { scoreWords, type Postings, type VisiblePassages, type WordScores } from './rank.ts'
import { scoreRelatedWords } from './related-words.ts'
import { countTerms } from './terms.ts'

/** Full-text index of passages in memory. */
export interface PassageIndex {
  /** Returns the id of the passage. Ids are never reused. */
  add(heading: string, text: string): number
  remove(ids: readonly number[]): void
  /** The score of each candidate with a term of the query, computed over the candidates alone (`scoreWords`). */
  scores(query: string, candidates: Iterable<number>): WordScores
  /** The part of the query that each candidate has in the same or in related words (`scoreRelatedWords`). */
  relatedScores(query: string, candidates: Iterable<number>): WordScores | undefined
  /** The best `limit` candidates by `scores`, best first. */
  search(query: string, candidates: Iterable<number>, limit: number): Hit[]
}

export interface Hit {
  id: number
  score: number
}

export function createPassageIndex(): PassageIndex {
  /** Passage id and count in turns for each term, ascending by id. */
  let postings = new Map<string, number[]>()
  /** Number of terms of each passage, 0 for a removed passage. */
  const lengths: number[] = []
  let liveCount = 0
  let removedCount = 0
  let vocabulary: string[] | undefined

  function add(heading: string, text: string): number {
    const id = lengths.length
    const { counts, length } = countTerms(heading, text)
    for (const [term, count] of counts) {
      const list = postings.get(term)
      if (list) list.push(id, count)
      else {
        postings.set(term, [id, count])
        vocabulary = undefined
      }
    }
    lengths.push(length)
    liveCount++
    return id
  }

  function remove(ids: readonly number[]): void {
    for (const id of ids) {
      if (!lengths[id]) continue
      lengths[id] = 0
      liveCount--
      removedCount++
    }
    if (removedCount > liveCount) compact()
  }

  function compact(): void {
    const compacted = new Map<string, number[]>()
    for (const [term, list] of postings) {
      const alive = list.filter((_, index) => lengths[list[index - (index % 2)] ?? 0])
      if (alive.length > 0) compacted.set(term, alive)
    }
    postings = compacted
    vocabulary = undefined
    removedCount = 0
  }

  function toVisible(candidates: Iterable<number>): VisiblePassages {
    const flags = new Uint8Array(lengths.length)
    let [count, totalLength] = [0, 0]
    for (const id of candidates) {
      if (!lengths[id] || flags[id] === 1) continue
      flags[id] = 1
      count++
      totalLength += lengths[id]
    }
    return { flags, lengths, count, totalLength }
  }

  const scores = (query: string, candidates: Iterable<number>) => scoreWords(query, source, toVisible(candidates))
  const relatedScores = (query: string, candidates: Iterable<number>) => scoreRelatedWords(query, source, toVisible(candidates))

  function search(query: string, candidates: Iterable<number>, limit: number): Hit[] {
    const found = scores(query, candidates)
    const hits = Array.from(found.keys(), (id) => ({ id, score: found.get(id)! }))
    return hits.sort((a, b) => b.score - a.score || a.id - b.id).slice(0, limit)
  }

  const source: Postings = {
    of: (term) => postings.get(term) ?? [],
    related(term, letters, prefixes) {
      vocabulary ??= [...postings.keys()].sort()
      const longer: string[] = []
      for (let index = lowerBound(vocabulary, term); vocabulary[index]?.startsWith(term); index++) {
        const candidate = vocabulary[index] as string
        if (candidate !== term && candidate.length <= term.length + letters) longer.push(candidate)
      }
      return [...longer, ...prefixes.filter((prefix) => postings.has(prefix))]
    },
  }

  return { add, remove, scores, relatedScores, search }
}

/** The first index with a value not less than `value`. */
function lowerBound(sorted: readonly string[], value: string): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] as string) < value) low = middle + 1
    else high = middle
  }
  return low
}
