const words = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ')
const months = 'january february march april may june july august september october november december'.split(' ')
const monthPattern = months.map((month) => `${month.slice(0, 3)}(?:${month.slice(3)})?`).join('|')

/** Dates, times, ids and numbers of lists: their digits are no figures. */
const noFigures = [
  /\b\d{4}-\d{2}(?:-\d{2})?(?:T[\d:.]+Z?)?\b/g,
  /\b\d{1,2}:\d{2}(?::\d{2})?\b/g,
  new RegExp(String.raw`\b\d{1,2}(?:st|nd|rd|th)?(?: of)? (?:${monthPattern})\b(?: \d{4}\b)?`, 'gi'),
  new RegExp(String.raw`\b(?:${monthPattern})\.? \d{1,2}\b(?:, \d{4}\b)?`, 'gi'),
  new RegExp(String.raw`\b(?:${monthPattern}) \d{4}\b`, 'gi'),
  /\b[A-Za-z]+-?\d[\w-]*/g,
  /^\s*\d{1,2}[.)] /gm,
]
const figure = /(?<![\w.])(-?)(\d{1,3}(?:[,'\u00a0\u202f]\d{3})+(?!\d)|\d+)(\.\d+)?(?![\d])/g

export interface Figure {
  value: number
  decimals: number
}

/** Figures of a text. Thousands may be separated by commas, apostrophes or thin spaces. */
export function findFigures(text: string): Figure[] {
  let rest = text.replaceAll('−', '-').replaceAll(/\*\*|`/g, '')
  for (const pattern of noFigures) rest = rest.replaceAll(pattern, ' ; ')
  return [...rest.matchAll(figure)].map(([, sign, whole = '', fraction = '']) => ({
    value: Number(`${sign}${whole.replaceAll(/\D/g, '')}${fraction}`),
    decimals: Math.max(0, fraction.length - 1),
  }))
}

/**
 * Whether a text states a number: rounded correctly, to whole ones only from 10 on. A negative number may be told by a verb ("fell by 3.2").
 * Small whole numbers may be words.
 */
export function statesNumber(text: string, expected: number): boolean {
  if (findFigures(text).some((each) => isRounding(each, expected))) return true
  if (expected < 0 && /\b(?:fell|fall|drop|down|declin|decreas|less|lower|shr[aiu]nk|lost)/i.test(text))
    return statesNumber(text, -expected)
  const word = Number.isInteger(expected) && expected > 1 ? words[expected] : undefined
  return word !== undefined && new RegExp(String.raw`\b${word}\b`, 'i').test(text)
}

function isRounding({ value, decimals }: Figure, expected: number): boolean {
  const isWhole = Number.isInteger(expected)
  if (isWhole || decimals >= 2) return Math.abs(value - expected) <= 0.0051
  if (decimals === 0 && Math.abs(expected) < 10) return false
  return Math.abs(value - expected) <= 0.5 * 10 ** -decimals + 1e-9
}

/** The ways to write a date (`2026-03-09`) or month (`2026-03`); undefined for another text. */
export function writeDate(text: string): string[] | undefined {
  const [, year, month = '', day] = /^(\d{4})-(\d{2})(?:-(\d{2}))?$/.exec(text) ?? []
  const name = months[Number(month) - 1]
  if (name === undefined) return undefined
  if (day === undefined) return [text, `${name} ${year}`, name, `${name.slice(0, 3)} ${year}`]
  const number = String(Number(day))
  return [text, `${number} ${name}`, `${name} ${number}`, `${number} ${name.slice(0, 3)}`, `${name.slice(0, 3)} ${number}`]
}
