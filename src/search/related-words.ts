import { readFileSync } from 'node:fs'
import { maxScore, scoreWords, type Postings, type VisiblePassages, type WordScores } from './rank.ts'
import { isEnglish, toTerm } from './terms.ts'

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

/** By term: the words of all groups that have a word with this term. Words of a group have related meanings. */
let wordsByTerm: Map<string, Set<string>> | undefined

/**
 * The terms of English words whose meaning is related to that of a term, with the inflected forms of its own word. Empty for an unknown
 * term. The first call reads the groups, in about 20 ms.
 */
export function toRelatedTerms(term: string): readonly string[] {
  wordsByTerm ??= readGroups()
  const terms = [...(wordsByTerm.get(term) ?? [])].flatMap(toForms)
  return [...new Set(terms)].filter((related) => related !== term)
}

/** The groups of `thesaurus.txt`: words with a related meaning, a group on each line. */
export function thesaurusGroups(): string[][] {
  const lines = readFileSync(new URL('./thesaurus.txt', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
  return lines.filter((line) => !line.startsWith('#')).map((line) => line.split(' '))
}

function readGroups(): Map<string, Set<string>> {
  const byTerm = new Map<string, Set<string>>()
  for (const words of thesaurusGroups()) {
    for (const term of words.flatMap(toForms)) {
      const related = byTerm.get(term) ?? new Set()
      for (const word of words) related.add(word)
      byTerm.set(term, related)
    }
  }
  return byTerm
}

/** Endings of words that are no verbs, or are inflected already. */
const noVerb = /(s|ed|ing|ion|ment|al|er|or|ist|ty|ness|[ae]nce|able|ly)$/

/** The terms of a word and, where the word may be a verb, of its regular forms: "stop", "stopped" and "stopping". */
function toForms(word: string): string[] {
  if (word.length < 3 || noVerb.test(word)) return [toTerm(word)]
  if (/[^aeiou]y$/.test(word)) return [word, `${word.slice(0, -1)}ied`, `${word}ing`]
  const isDoubled = /^[^aeiou]*[aeiou][bdglmnprt]$/.test(word)
  const base = isDoubled ? `${word}${word.at(-1)}` : word.replace(/e$/, '')
  return [word, `${base}ed`, `${base}ing`]
}
