import { normaliseText } from '../agent/tool-names.ts'

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

/** Frequent words of languages in Latin script, without words that several of them share in writing with English. */
const frequentWords: Readonly<Record<string, string>> = {
  english:
    'the of and to is that for it as with his they at be this have from or had by what when we there can an your which their said if do will how about up out them then she many some so these would other into has her like him see time could no make than been its who now did get come may part are was were you our my does a i am any anybody anyone anything been before being below cannot could did during each every find get go got here how into just much must myself need needs never nobody nothing only own please put same shall should since someone something still take than then too under until very want wants well where whether while whom whose why without yes yet your',
  german:
    'der die das und ist nicht ein eine einen einem einer zu den dem des mit sich auf für von im wie wird werden bei aus nach auch wir sie es ich haben hat sind kann oder über wenn zum zur wann welche welcher wer muss darf viele man beim gibt',
  french:
    'le la les des du de et est une un que qui dans pour pas sur avec ce cette sont au aux par plus ne se vous nous il elle je mon ma mes quel quelle combien comment être ont leur',
  spanish:
    'el la los las de del y es una un que en por para con no se su sus al lo como más pero o este esta son hay cuál cuánto cuántos qué cómo mi puede tiene',
  italian:
    'il lo la gli le di del della dei e è una un che in per con non si su da al come più ma o questo questa sono quanto quanti quale posso ha hanno nel nella',
  portuguese:
    'o a os as de do da dos das e é uma um que em por para com não se no na ao como mais mas ou este esta são qual quanto quantos pode tem',
  dutch:
    'de het een en is niet van te dat die in op voor met zijn er aan om ook als bij naar uit wij ik je hoeveel wat welke kan mag wordt worden hebben heeft',
  nordic:
    'och att det som en är av för med den till inte på har om ett jag vi kan hur og det er en til af på ikke der med de hvad hvor vad hvordan',
  polish: 'i w na z do nie się że jest to o jak po co tak ile ma od za przez dla czy mogę są był może być który która',
}

const languagesByWord = new Map<string, string[]>()
for (const [language, words] of Object.entries(frequentWords)) {
  for (const word of new Set(words.split(' '))) languagesByWord.set(word, [...(languagesByWord.get(word) ?? []), language])
}

/** Characters that are examined. */
const sample = 2_000

/**
 * True if a text is likely English: mostly Latin letters, and no other language has more of its frequent words. A text with no
 * frequent word at all (names, codes, keywords) counts as English.
 */
export function isEnglish(text: string): boolean {
  const part = text.slice(0, sample)
  const letters = part.match(/\p{L}/gu)?.length ?? 0
  const latin = part.match(/\p{Script=Latin}/gu)?.length ?? 0
  if (latin < letters * 0.8) return false
  const counts = new Map<string, number>()
  for (const word of part.toLowerCase().match(/\p{L}+/gu) ?? []) {
    for (const language of languagesByWord.get(word) ?? []) counts.set(language, (counts.get(language) ?? 0) + 1)
  }
  const english = counts.get('english') ?? 0
  return [...counts.values()].every((count) => count <= english)
}
