import { isStopWord, setOf, type Word } from './words.ts'

/** Finds fixed phrases in the words of a question, so that no reader needs a regular expression over the text. */

/** Alternatives by their first word, each a list of words, longest first. `#` stands for a number. */
type Phrases = ReadonlyMap<string, readonly (readonly string[])[]>

/** The position of a phrase, and its words. */
interface Found {
  at: number
  words: Word[]
  /** The phrase, as in the table. */
  phrase: string
}

/** All tables of phrases. Their texts are constants of the readers. */
const parsed = new Map<string, Phrases>()

/** Parses `how many|number of|top #`. A longer phrase wins. */
export function phrases(text: string): Phrases {
  const cached = parsed.get(text)
  if (cached) return cached
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

/** Finds and claims a phrase. */
export function takePhrase(words: readonly Word[], alternatives: Phrases, use = 'phrase'): Found | undefined {
  const phrase = findPhrase(words, alternatives)
  if (phrase) claim(phrase.words, use)
  return phrase
}

export function claim(words: readonly Word[], use: string): void {
  for (const word of words) word.use = use
}

/** Claims fitting words. */
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

/** Finds words of exclusion, behind or before the excluded words: "all except North", "every region but North", "North left out". */

const before = phrases(
  'except|except for|excepting|exception of|with the exception of|excluding|exclude|without|without counting|not|not counting|not including|no|non|outside|outside of|' +
    "other than|apart from|aside from|besides|leaving out|leave out|leaving aside|leaving off|ignoring|ignore|disregarding|minus|omitting|omit|neither|nor|sans|bar|barring|isn't|aren't|wasn't|weren't|doesn't|don't|but",
)
const suffixes = phrases('excluded|left out|left aside|not included|not counted|is excluded|are excluded')
/** "All regions but North": only behind such a word does "but" exclude. */
const all = setOf('all every everything everybody everyone any anything each whole total')
/** Words between, besides names of tables and columns. */
const between = setOf('those sales ones including counting')

/** The words that exclude the word at a position; empty without an exclusion. */
export function exclusionOf(words: readonly Word[], at: number, length: number): Word[] {
  const after = findPhrase(words.slice(at + length), suffixes)
  if (after?.at === 0) return after.words
  for (let start = at - 1; start >= Math.max(0, at - 7); start--) {
    const phrase = findPhrase(words.slice(start), before)
    const isNear = phrase?.at === 0 && words.slice(start + phrase.words.length, at).every(isBetween)
    if (isNear && (phrase.phrase !== 'but' || isAllBut(words, start))) return phrase.words
  }
  return []
}

function isBetween({ lower, use = '' }: Word): boolean {
  return (use === '' && isStopWord(lower) && lower !== 'but') || ['column', 'table', 'measure'].includes(use) || between.has(lower)
}

function isAllBut(words: readonly Word[], at: number): boolean {
  return words.slice(Math.max(0, at - 3), at).some(({ lower }) => all.has(lower))
}

/** Words that exclude something unknown: what a question excludes is never dropped without notice. The first word may be a plain "no". */
export function openExclusions(words: readonly Word[]): Word[] {
  return words.filter((word, at) => {
    const phrase = at > 0 ? findPhrase(words.slice(at), before) : undefined
    return phrase?.at === 0 && word.lower !== 'bar' && (word.lower !== 'but' || isAllBut(words, at))
  })
}

/** Function words that are written without a vowel, or with another: `mny`, `frm`. */
export function sameConsonants(word: string, candidates: Iterable<string>): string[] {
  const bare = (text: string) => text.slice(0, 1) + text.slice(1).replace(/[aeiou]/g, '')
  return word.length > 4 || word.length < 3
    ? []
    : [...new Set(candidates)].filter((candidate) => candidate.length <= 4 && bare(candidate) === bare(word))
}

/** Candidates that a mistyped word may stand for: one wrong, missing, additional or swapped letter, two in long words. */
export function closest(word: string, candidates: Iterable<string>): string[] {
  const limit = word.length >= 8 ? 2 : word.length >= 4 ? 1 : 0
  let best = limit
  let nearest = new Set<string>()
  for (const candidate of candidates) {
    if (candidate.length < 4 || candidate[0] !== word[0] || candidate === word) continue
    const distance = distanceOf(word, candidate)
    // A short word that differs by a letter is likely to be another word: only swapped letters count.
    if (distance > best || (word.length === 4 && !isSwap(word, candidate) && candidate.length <= 4)) continue
    if (distance < best) nearest = new Set()
    best = distance
    nearest.add(candidate)
  }
  return [...nearest]
}

function isSwap(a: string, b: string): boolean {
  return a.length === b.length && a.split('').sort().join('') === b.split('').sort().join('')
}

/** Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours. */
function distanceOf(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return 3
  let [before, row]: number[][] = [[], Array.from({ length: b.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = row![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? before![j - 2]! + 1 : Infinity
      next.push(Math.min(change, swap, row![j]! + 1, next[j - 1]! + 1))
    }
    before = row
    row = next
  }
  return row!.at(-1)!
}

const names =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'
const values = new Map<string, number>([
  ...names.split(' ').map((name, value): [string, number] => [name, value]),
  ...'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ').map((name, at): [string, number] => [name, (at + 2) * 10]),
])
const powers = new Map([
  ['hundred', 100],
  ['thousand', 1_000],
  ['million', 1_000_000],
])
const name = `(?:${[...values.keys(), ...powers.keys()].toSorted((a, b) => b.length - a.length).join('|')})`
const numeral = new RegExp(`\\b(?:a (?=hundred|thousand|million))?${name}(?:(?:(?<=hundred|thousand|million) and |[ -])${name})*\\b`, 'gi')

/** Writes numerals as digits: "three hundred and twelve" becomes 312. The word "one" alone stays, because names have it. */
export function withDigits(text: string): string {
  return text.replace(numeral, (words) => (words.toLowerCase() === 'one' ? words : String(valueOf(words))))
}

function valueOf(words: string): number {
  let [sum, part] = [0, 0]
  for (const word of words.toLowerCase().split(/[ -]/)) {
    const power = powers.get(word)
    if (power === undefined) part += values.get(word) ?? 0
    else if (power === 100) part = (part || 1) * power
    else {
      sum += (part || 1) * power
      part = 0
    }
  }
  return sum + part
}
