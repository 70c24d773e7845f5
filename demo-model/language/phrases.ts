import type { Word } from './words.ts'

/** Finds fixed phrases in the words of a question, so that no reader needs a regular expression over the text. */

/** Alternatives by their first word, each a list of words, longest first. `#` stands for a number. */
export type Phrases = ReadonlyMap<string, readonly (readonly string[])[]>

/** Where a phrase begins, and its words. */
export interface Found {
  at: number
  words: Word[]
  /** The phrase, as in the table. */
  phrase: string
}

/** All tables of phrases. Their texts are constants of the readers. */
const parsed = new Map<string, Phrases>()

/** Parses `how many|number of|top #`. A longer phrase wins. */
export function phrases(text: string): Phrases {
  const known = parsed.get(text)
  if (known) return known
  const all = text.split('|').map((phrase) => phrase.split(' '))
  const table = Map.groupBy(
    all.toSorted((a, b) => b.length - a.length),
    ([first = '']) => first,
  )
  parsed.set(text, table)
  return table
}

/** The first of the phrases among the words without a use; undefined for none. */
export function findPhrase(words: readonly Word[], alternatives: Phrases): Found | undefined {
  for (let at = 0; at < words.length; at++) {
    const candidates = alternatives.get(words[at]!.lower) ?? (isNumber(words[at]!) ? alternatives.get('#') : undefined)
    const best = candidates?.find((phrase) => phrase.every((part, offset) => fits(words[at + offset], part)))
    if (best) return { at, words: words.slice(at, at + best.length), phrase: best.join(' ') }
  }
  return undefined
}

/** Finds a phrase and claims its words. */
export function takePhrase(words: readonly Word[], alternatives: Phrases, use = 'phrase'): Found | undefined {
  const found = findPhrase(words, alternatives)
  if (found) claim(found.words, use)
  return found
}

export function claim(words: readonly Word[], use: string): void {
  for (const word of words) word.use = use
}

/** Claims the words that fit. */
export function claimWhere(words: readonly Word[], use: string, isClaimed: (word: Word, at: number) => boolean): void {
  claim(words.filter(isClaimed), use)
}

function fits(word: Word | undefined, part: string): boolean {
  if (!word || word.use !== undefined) return false
  return part === '#' ? isNumber(word) : word.lower === part
}

export function isNumber({ lower }: Word): boolean {
  return lower !== '' && Number.isFinite(Number(lower))
}
