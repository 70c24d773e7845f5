import { maxScore, scoreWords, type Postings, type VisiblePassages, type WordScores } from './bm25.ts'
import { isEnglish } from './languages.ts'
import { toRelatedTerms } from './thesaurus/thesaurus.ts'

/**
 * The part of an English query that each visible passage has in the same or in related words, from 0 to 1. Computed over the visible
 * passages alone, as `scoreWords` is. Undefined for a query in another language, and where no passage has such a word.
 */
export function scoreRelatedWords(query: string, postings: Postings, visible: VisiblePassages): WordScores | undefined {
  if (!isEnglish(query)) return undefined
  const { has, get, keys } = scoreWords(query, postings, visible, toRelatedTerms)
  if (keys().next().done) return undefined
  return { has, keys, get: (id) => (has(id) ? get(id)! / maxScore : undefined) }
}
