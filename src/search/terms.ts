import { normaliseText } from '../agent/normalise-text.ts'

/** Words that tell nothing about what a passage is about. */
const common = new Set(
  [
    'a about an and any are as at be by can do does for from get has have how i if in is it its many me much my of on or our',
    'please should so tell than that the their then there these they this to us was we were what when where which who why will',
    'with would you your',
  ].flatMap((line) => line.split(' ')),
)

/** The terms of a text: lower case, without accents and plural endings, in order, repeated as often as they occur. */
export function toTerms(text: string): string[] {
  const plain = normaliseText(text, 'NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
  return (plain.match(/[\p{L}\p{N}]+/gu) ?? []).flatMap((word) => (hasNoSpaces.test(word) ? toPairs(word) : [toStem(word)]))
}

/** The distinct terms of a question, without words that stand in every text; at most `limit`. */
export function toQueryTerms(query: string, limit = 32): string[] {
  const terms = [...new Set(toTerms(query))]
  const telling = terms.filter((term) => !common.has(term))
  return (telling.length > 0 ? telling : terms).slice(0, limit)
}

/** Scripts that put no space between words are found by each two characters that stand together. */
const hasNoSpaces = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

function toPairs(word: string): string[] {
  const characters = Array.from(word)
  return characters.length === 1 ? characters : characters.slice(1).map((character, index) => `${characters[index]}${character}`)
}

/** Plurals only: they are what questions and texts differ in most, and a word of another language is hardly hurt. */
function toStem(word: string): string {
  if (word.length < 4) return word
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`
  return /[^sui]s$/.test(word) ? word.slice(0, -1) : word
}
