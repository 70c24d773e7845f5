import { normaliseText } from '../agent/normalise-text.ts'

/** Stop words, which say nothing about the topic of a passage. */
const stopWords = new Set(
  [
    'a about an and any are as at be by can do does for from get has have how i if in is it its many me much my of on or our',
    'please should so tell than that the their then there these they this to us was we were what when where which who why will',
    'with would you your am been did had he her him his must no not she them too very',
  ].flatMap((line) => line.split(' ')),
)

/** The terms of a text in order, with repetitions: lower case, without accents and plural endings. */
export function toTerms(text: string): string[] {
  const plain = normaliseText(text, 'NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
  return (plain.match(/[\p{L}\p{N}]+/gu) ?? []).flatMap((word) => (hasNoSpaces.test(word) ? toPairs(word) : [toTerm(word)]))
}

/** A word in the heading counts as this many words in the text. */
const headingWeight = 2

/** The terms of a passage with their counts, and the number of all terms, at least 1. */
export function countTerms(heading: string, text: string): { counts: Map<string, number>; length: number } {
  const counts = new Map<string, number>()
  for (const term of toTerms(text)) counts.set(term, (counts.get(term) ?? 0) + 1)
  for (const term of toTerms(heading)) counts.set(term, (counts.get(term) ?? 0) + headingWeight)
  let length = 0
  for (const count of counts.values()) length += count
  return { counts, length: Math.max(1, length) }
}

/** The distinct terms of a query without stop words, or with stop words if the query has no other words. At most `limit`. */
export function toQueryTerms(query: string, limit = 32): string[] {
  const terms = [...new Set(toTerms(query))]
  const significant = terms.filter((term) => !stopWords.has(term))
  return (significant.length > 0 ? significant : terms).slice(0, limit)
}

/** Text in scripts without spaces between words is indexed by pairs of adjacent characters. */
const hasNoSpaces = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

function toPairs(word: string): string[] {
  const characters = Array.from(word)
  return characters.length === 1 ? characters : characters.slice(1).map((character, index) => `${characters[index]}${character}`)
}

/**
 * The term of a word in lower case, without accents. Removes plural endings only: questions and texts differ most in plurals, and words of
 * other languages are hardly affected.
 */
export function toTerm(word: string): string {
  if (word.length < 4) return word
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`
  return /[^sui]s$/.test(word) ? word.slice(0, -1) : word
}
