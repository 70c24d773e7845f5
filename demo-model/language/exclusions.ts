import { findPhrase, phrases } from './phrases.ts'
import { isStopWord, setOf, type Word } from './words.ts'

/** Finds the words that exclude what stands behind or before them: "all except North", "every region but North", "North left out". */

const before = phrases(
  'except|except for|excepting|exception of|with the exception of|excluding|exclude|without|without counting|not|not counting|not including|no|non|outside|outside of|' +
    "other than|apart from|aside from|besides|leaving out|leave out|leaving aside|leaving off|ignoring|ignore|disregarding|minus|omitting|omit|neither|nor|sans|bar|barring|isn't|aren't|wasn't|weren't|doesn't|don't|but",
)
const behind = phrases('excluded|left out|left aside|not included|not counted|is excluded|are excluded')
/** "All regions but North": only behind such a word does "but" exclude. */
const all = setOf('all every everything everybody everyone any anything each whole total')
/** Words that may stand between, besides names of tables and columns. */
const between = setOf('those sales ones including counting')

/** The words that exclude what stands at a position; none where nothing excludes it. */
export function exclusionOf(words: readonly Word[], at: number, length: number): Word[] {
  const after = findPhrase(words.slice(at + length), behind)
  if (after?.at === 0) return after.words
  for (let start = at - 1; start >= Math.max(0, at - 7); start--) {
    const found = findPhrase(words.slice(start), before)
    const isNear = found?.at === 0 && words.slice(start + found.words.length, at).every(isBetween)
    if (isNear && (found.phrase !== 'but' || isAllBut(words, start))) return found.words
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
    const found = at > 0 ? findPhrase(words.slice(at), before) : undefined
    return found?.at === 0 && word.lower !== 'bar' && (word.lower !== 'but' || isAllBut(words, at))
  })
}
