import { scoreWords, type Scored, type Postings, type VisiblePassages, type WordScores } from './rank.ts'
import { scoreRelatedWords } from './related-words.ts'
import { countTerms } from './terms.ts'

/** Full-text index of passages in memory. Ids of passages are never reused. */
export class PassageIndex {
  /** Passage id and count in turns for each term, ascending by id. */
  private postings = new Map<string, number[]>()
  /** Number of terms of each passage, 0 for a removed passage. */
  private readonly lengths: number[] = []
  private liveCount = 0
  private removedCount = 0
  private vocabulary: string[] | undefined
  private readonly source: Postings = {
    of: (term) => this.postings.get(term) ?? [],
    related: (term, letters, prefixes) => [...this.longerTerms(term, letters), ...prefixes.filter((prefix) => this.postings.has(prefix))],
  }

  /** Returns the id of the passage. */
  add(heading: string, text: string): number {
    const id = this.lengths.length
    const { counts, length } = countTerms(heading, text)
    for (const [term, count] of counts) {
      const list = this.postings.get(term)
      if (list) list.push(id, count)
      else {
        this.postings.set(term, [id, count])
        this.vocabulary = undefined
      }
    }
    this.lengths.push(length)
    this.liveCount++
    return id
  }

  remove(ids: readonly number[]): void {
    for (const id of ids) {
      if (!this.lengths[id]) continue
      this.lengths[id] = 0
      this.liveCount--
      this.removedCount++
    }
    if (this.removedCount > this.liveCount) this.compact()
  }

  /** The score of each candidate with a term of the query, computed over the candidates alone (`scoreWords`). */
  scores(query: string, candidates: Iterable<number>): WordScores {
    return scoreWords(query, this.source, this.toVisible(candidates))
  }

  /** The part of the query that each candidate has in the same or in related words (`scoreRelatedWords`). */
  relatedScores(query: string, candidates: Iterable<number>): WordScores | undefined {
    return scoreRelatedWords(query, this.source, this.toVisible(candidates))
  }

  /** The best `limit` candidates by `scores`, best first. */
  search(query: string, candidates: Iterable<number>, limit: number): Scored[] {
    const scores = this.scores(query, candidates)
    const hits = Array.from(scores.keys(), (id) => ({ id, score: scores.get(id)! }))
    return hits.sort((a, b) => b.score - a.score || a.id - b.id).slice(0, limit)
  }

  private compact(): void {
    const compacted = new Map<string, number[]>()
    for (const [term, list] of this.postings) {
      const alive = list.filter((_, index) => this.lengths[list[index - (index % 2)] ?? 0])
      if (alive.length > 0) compacted.set(term, alive)
    }
    this.postings = compacted
    this.vocabulary = undefined
    this.removedCount = 0
  }

  private toVisible(candidates: Iterable<number>): VisiblePassages {
    const { lengths } = this
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

  private longerTerms(term: string, letters: number): string[] {
    this.vocabulary ??= [...this.postings.keys()].sort()
    const longer: string[] = []
    for (let index = lowerBound(this.vocabulary, term); this.vocabulary[index]?.startsWith(term); index++) {
      const candidate = this.vocabulary[index] as string
      if (candidate !== term && candidate.length <= term.length + letters) longer.push(candidate)
    }
    return longer
  }
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
