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
