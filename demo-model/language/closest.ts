/** Function words that are written without a vowel, or with another: `mny`, `frm`. */
export function sameConsonants(word: string, candidates: Iterable<string>): string[] {
  const bare = (text: string) => text.slice(0, 1) + text.slice(1).replace(/[aeiou]/g, '')
  return word.length > 4 || word.length < 3 ? [] : [...new Set(candidates)].filter((each) => each.length <= 4 && bare(each) === bare(word))
}

/** Candidates that a mistyped word may stand for: one wrong, missing, additional or swapped letter, two in long words. */
export function closest(word: string, candidates: Iterable<string>): string[] {
  const limit = word.length >= 8 ? 2 : word.length >= 4 ? 1 : 0
  let best = limit
  let found = new Set<string>()
  for (const candidate of candidates) {
    if (candidate.length < 4 || candidate[0] !== word[0] || candidate === word) continue
    const distance = distanceOf(word, candidate)
    // A short word that differs by a letter is likely to be another word: only swapped letters count.
    if (distance > best || (word.length === 4 && !isSwap(word, candidate) && candidate.length <= 4)) continue
    if (distance < best) found = new Set()
    best = distance
    found.add(candidate)
  }
  return [...found]
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
