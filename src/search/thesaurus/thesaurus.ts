import { toTerm } from '../terms.ts'
import { actions } from './actions.ts'
import { computing } from './computing.ts'
import { general } from './general.ts'
import { home } from './home.ts'
import { money } from './money.ts'
import { people } from './people.ts'
import { things } from './things.ts'
import { travel } from './travel.ts'

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

/** The groups of words with a related meaning. */
export function thesaurusGroups(): string[][] {
  const lines = [people, money, home, travel, general, things, actions, computing].flatMap((groups) => groups.trim().split('\n'))
  return lines.map((line) => line.split(' '))
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
