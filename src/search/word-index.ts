import { toQueryTerms, toTerms } from './terms.ts'

/** Full-text index of passages, ranked by Okapi BM25 (Robertson and Zaragoza 2009). */
export interface PassageIndex {
  /** Returns the id of the passage. Ids are never reused. */
  add(heading: string, text: string): number
  remove(ids: readonly number[]): void
  /**
   * Returns the best `limit` candidates, best first. Term frequencies are counted over the candidates alone: counts over all passages
   * would reveal the content of passages withheld from the caller.
   */
  search(query: string, candidates: Iterable<number>, limit: number): Hit[]
}

export interface Hit {
  id: number
  score: number
}

const saturation = 1.2
const lengthWeight = 0.75
/** A word in the heading counts as this many words in the text. */
const headingWeight = 2
/** Weight of a word with the same beginning (travel, travelling). */
const relatedWeight = 0.4

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
    const counts = new Map<string, number>()
    for (const term of toTerms(text)) counts.set(term, (counts.get(term) ?? 0) + 1)
    for (const term of toTerms(heading)) counts.set(term, (counts.get(term) ?? 0) + headingWeight)
    let length = 0
    for (const [term, count] of counts) {
      length += count
      const list = postings.get(term)
      if (list) list.push(id, count)
      else {
        postings.set(term, [id, count])
        vocabulary = undefined
      }
    }
    lengths.push(Math.max(length, 1))
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

  function search(query: string, candidates: Iterable<number>, limit: number): Hit[] {
    const allowed = new Set<number>()
    let total = 0
    for (const id of candidates) {
      if (!lengths[id]) continue
      allowed.add(id)
      total += lengths[id]
    }
    const scores = new Map<number, number>()
    for (const term of toQueryTerms(query)) {
      const counts = countsOf(term, allowed)
      const rarity = Math.log(1 + (allowed.size - counts.size + 0.5) / (counts.size + 0.5))
      for (const [id, count] of counts) {
        const relative = 1 - lengthWeight + (lengthWeight * (lengths[id] ?? 1) * allowed.size) / total
        scores.set(id, (scores.get(id) ?? 0) + (rarity * count * (saturation + 1)) / (count + saturation * relative))
      }
    }
    const hits = [...scores].map(([id, score]) => ({ id, score }))
    return hits.sort((a, b) => b.score - a.score || a.id - b.id).slice(0, limit)
  }

  /** Occurrences of the term in each allowed passage, plus weighted occurrences of related terms. */
  function countsOf(term: string, allowed: ReadonlySet<number>): Map<number, number> {
    const counts = new Map<number, number>()
    for (const [variant, weight] of [[term, 1] as const, ...related(term).map((variant) => [variant, relatedWeight] as const)]) {
      const list = postings.get(variant) ?? []
      for (let index = 0; index < list.length; index += 2) {
        const id = list[index] as number
        if (allowed.has(id)) counts.set(id, (counts.get(id) ?? 0) + weight * (list[index + 1] as number))
      }
    }
    return counts
  }

  /** Indexed terms which extend `term`, or are a prefix of `term`, by at most four letters. */
  function related(term: string): string[] {
    if (term.length < 4) return []
    vocabulary ??= [...postings.keys()].sort()
    const longer: string[] = []
    for (let index = lowerBound(vocabulary, term); vocabulary[index]?.startsWith(term); index++) {
      const candidate = vocabulary[index] as string
      if (candidate !== term && candidate.length <= term.length + 4) longer.push(candidate)
    }
    const shorter = [1, 2, 3, 4].map((letters) => term.slice(0, -letters)).filter((prefix) => prefix.length >= 5 && postings.has(prefix))
    return [...longer, ...shorter]
  }

  return { add, remove, search }
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
