/**
 * Every three successive characters of a text set one of these bits of the text's signature. A text that contains a word has all bits of the
 * word; a text that has the bits contains the word probably.
 */
export const sliceCount = 2048

/** The most bits that one search compares. Ten bits of eleven are wrong about a text in a thousand at most. */
const maxWordSlices = 10

/** Adds the bits of a text. */
export function addSlices(slices: Set<number>, text: string): void {
  const folded = fold(text)
  for (let at = 2; at < folded.length; at++) {
    slices.add(sliceOf(folded.charCodeAt(at - 2), folded.charCodeAt(at - 1), folded.charCodeAt(at)))
  }
}

/** Bits of the words. Undefined when all words are shorter than three characters, which have no bits. */
export function slicesOfWords(words: readonly string[]): number[] | undefined {
  const slices = new Set<number>()
  for (const word of words) addSlices(slices, word)
  if (slices.size === 0) return undefined
  const all = [...slices]
  const step = Math.max(1, all.length / maxWordSlices)
  return Array.from({ length: Math.min(all.length, maxWordSlices) }, (_, n) => all[Math.floor(n * step)]!)
}

function sliceOf(a: number, b: number, c: number): number {
  const mixed = Math.imul(Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b) ^ Math.imul(c, 0xc2b2ae35), 0x27d4eb2f)
  return (mixed ^ (mixed >>> 15)) & (sliceCount - 1)
}

/** Makes texts equal that `containsWords` of either database takes for equal, such as σ, ς and Σ. */
function fold(text: string): string {
  return text.toLowerCase().replace(/[^\0-\x7f]/gu, (character) => {
    const folded = character.toUpperCase().toLowerCase()
    return folded.length === character.length ? folded : character
  })
}
