import { toQueryTerms, toTerms } from './terms.ts'

/** Passages found by their words, ranked by Okapi BM25 (Robertson and Zaragoza 2009). */
export interface PassageIndex {
  /** Gives the number by which the passage is known here; numbers are not used again. */
  add(heading: string, text: string): number
  remove(ids: readonly number[]): void
  /**
   * The best of the candidates. Only they are counted: how rare a word is among all others would tell a caller what stands in
   * passages that are withheld from it.
   */
  search(query: string, candidates: Iterable<number>, limit: number): Hit[]
}

export interface Hit {
  id: number
  score: number
}

const saturation = 1.2
const lengthWeight = 0.75
/** A word of the heading counts as so many of the text. */
const headingWeight = 2
/** What a word with the same beginning (travel, travelling) counts. */
const relatedWeight = 0.4

export function createPassageIndex(): PassageIndex {
  /** By term: passage, count, passage, count, ... in ascending order of passages. */
  let postings = new Map<string, number[]>()
  /** Terms of each passage; 0 for one that was removed. */
  const lengths: number[] = []
  let living = 0
  let dead = 0
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
    living++
    return id
  }

  function remove(ids: readonly number[]): void {
    for (const id of ids) {
      if (!lengths[id]) continue
      lengths[id] = 0
      living--
      dead++
    }
    if (dead > living) compact()
  }

  function compact(): void {
    const kept = new Map<string, number[]>()
    for (const [term, list] of postings) {
      const alive = list.filter((_, index) => lengths[list[index - (index % 2)] ?? 0])
      if (alive.length > 0) kept.set(term, alive)
    }
    postings = kept
    vocabulary = undefined
    dead = 0
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
    return hits.sort((one, other) => other.score - one.score || one.id - other.id).slice(0, limit)
  }

  /** How often each allowed passage holds the term or, counting less, a related one. */
  function countsOf(term: string, allowed: ReadonlySet<number>): Map<number, number> {
    const counts = new Map<number, number>()
    for (const [other, weight] of [[term, 1] as const, ...related(term).map((other) => [other, relatedWeight] as const)]) {
      const list = postings.get(other) ?? []
      for (let index = 0; index < list.length; index += 2) {
        const id = list[index] as number
        if (allowed.has(id)) counts.set(id, (counts.get(id) ?? 0) + weight * (list[index + 1] as number))
      }
    }
    return counts
  }

  /** Terms that begin with this one, and ones with which it begins; by at most four letters more or fewer. */
  function related(term: string): string[] {
    if (term.length < 4) return []
    vocabulary ??= [...postings.keys()].sort()
    const longer: string[] = []
    for (let index = lowerBound(vocabulary, term); vocabulary[index]?.startsWith(term); index++) {
      const other = vocabulary[index] as string
      if (other !== term && other.length <= term.length + 4) longer.push(other)
    }
    const shorter = [1, 2, 3, 4].map((letters) => term.slice(0, -letters)).filter((other) => other.length >= 5 && postings.has(other))
    return [...longer, ...shorter]
  }

  return { add, remove, search }
}

/** The first place whose value is not before `value`. */
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
