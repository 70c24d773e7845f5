import { withDigits } from './language/phrases.ts'
import { setOf } from './language/words.ts'

/** Finds the calculation in a sentence, and writes it in the syntax of mathjs. */

/** Units of mathjs, without plurals. */
const units = new Set(
  (
    'km m cm mm mi ft kg g lb oz mg l ml meter kilometer centimeter millimeter mile yard foot feet inch inches acre hectare gram kilogram ton tonne ' +
    'ounce liter milliliter gallon pint cup second minute hour day week month year byte knot joule watt celsius fahrenheit kelvin kwh'
  )
    .split(' ')
    .flatMap((unit) => [unit, `${unit}s`]),
)
const spellings: Record<string, string> = { metre: 'meter', litre: 'liter', pound: 'lb', kilo: 'kg', kph: 'km/h', mph: 'mi/h', kwh: 'kWh' }
const functions = 'sqrt cbrt sin cos tan log log10 log2 ln exp abs round floor ceil mean median max min gcd lcm factorial sum prod'.split(
  ' ',
)
const constants = ['pi', 'e']
const signs: Record<string, string> = { '×': '*', '·': '*', '÷': '/', '−': '-', '–': '-', '²': '^2', '³': '^3', '√': 'sqrt ' }

/** Phrases and their replacements. */
const phrases = new Map(
  [
    'per cent: %|percent: %|half of: 1 / 2 *|a third of: 1 / 3 *|third of: 1 / 3 *|a quarter of: 1 / 4 *|quarter of: 1 / 4 *|twice: 2 *|double: 2 *',
    'plus: +|added to: +|and then add: +|minus: -|times: *|multiplied by: *|divided by: /|over: /|to the power of: ^|raised to: ^|squared: ^2|cubed: ^3',
    'modulo: mod|sqrt of: sqrt|square root of: sqrt|cube root of: cbrt|factorial of: factorial|logarithm of: log|log of: log|average of: mean|mean of: mean',
    'median of: median|sum of: sum|product of: prod|largest of: max|maximum of: max|smallest of: min|minimum of: min|sine of: sin|cosine of: cos|tangent of: tan',
  ]
    .join('|')
    .split('|')
    .map((line) => line.split(': ') as [string, string]),
)
const anyPhrase = new RegExp(`\\b(?:the )?(${[...phrases.keys()].join('|')})(?![\\p{L}\\d])`, 'gu')

/** Sentences with an order of operands that differs from the formula, `#` for a number. Multiplying before dividing stays exact. */
const sentences = [
  ['#% off( of)? #', '$3 * (100 - $1) / 100'],
  ['(?<=^[^\\d]*)# (?:\\p{L}+ ){0,5}#% off(?![^]*\\d)', '$1 * (100 - $2) / 100'],
  ['#% (?:more|higher) than #', '$2 * (100 + $1) / 100'],
  ['#% (?:less|lower) than #', '$2 * (100 - $1) / 100'],
  ['(?:increase|raise) # by #%', '$1 * (100 + $2) / 100'],
  ['(?:decrease|reduce|lower) # by #%', '$1 * (100 - $2) / 100'],
  ['#% (?:of|on) #', '$2 * $1 / 100'],
  ['what (?:%|percentage) of # is #', '$2 / $1 * 100'],
  ['# is what (?:percentage|%) of #', '$1 / $2 * 100'],
  ['subtract # from #', '$2 - $1'],
  ['add # (?:and|to) #', '$1 + $2'],
  ['multiply # (?:by|and|with) #', '$1 * $2'],
  ['divide # by #', '$1 / $2'],
  ['difference (?:between|of) # and #', '$1 - $2'],
].map(([sentence, formula]): [RegExp, string] => [
  new RegExp(`(?<![\\p{L}\\d.])${sentence!.replaceAll('#', String.raw`(\d+(?:\.\d+)?)`).replaceAll('%', ' ?%')}`, 'gu'),
  formula!,
])

interface FoundCalculation {
  /** Expression in the syntax of mathjs. */
  expression: string
  /** True if the sentence has no further content. */
  isAll: boolean
}

/** Finds the longest expression with at least a number and an operation. Dates are no expressions. */
export function findExpression(text: string): FoundCalculation | undefined {
  const normal = normalise(text)
  const tokens = normal.match(/\d+(?:\.\d+)?(?![\d\p{L}])|\p{L}[\p{L}\d_]*(?:\/h)?|[-+*/^(),!%]|\S/gu) ?? []
  let best: string[] = []
  for (let start = 0; start < tokens.length; start++) {
    const { run, end } = runFrom(tokens, start)
    if (run.length > best.length && isCalculation(run)) best = run
    // A later start would give a part of this run.
    start = Math.max(start, end - 1)
  }
  const rest = tokens.filter((token) => /[\p{L}\d]/u.test(token) && !fillers.has(token)).length
  return best.length === 0 ? undefined : { expression: write(best), isAll: rest <= best.filter((token) => /[\p{L}\d]/u.test(token)).length }
}

const fillers = setOf(
  'what is s the calculate compute evaluate how much many please me tell convert result value of work out are there make does equal can you a vat tax tip discount interest',
)

function normalise(text: string): string {
  let normal = withDigits(text)
    .toLowerCase()
    .replace(/\b\d{4}-\d{2}(-\d{2})?\b/g, 'date')
    .replace(/(\d),(?=\d{3}(?!\d))/g, '$1')
    .replace(/[×·÷−–²³√]/g, (sign) => signs[sign]!)
    .replace(/° ?([cf])\b/g, (_, letter) => (letter === 'c' ? ' celsius' : ' fahrenheit'))
    .replace(/[$€£?°]|[.!](?=\s|$)(?<!\d!)|\bdegrees?\b|(?<=\d)\s+(?=%)/g, ' ')
    .replaceAll('**', '^')
    .replace(/\bone\b/g, '1')
    .replace(/(?<=\d ?)x(?= ?\d)/g, '*')
    .replace(anyPhrase, (_, phrase: string) => phrases.get(phrase)!)
  for (const [sentence, formula] of sentences) normal = normal.replace(sentence, formula)
  // "5 km in miles" and "How many minutes are in 3 hours?" are conversions, "sum of 3, 4 and 5" is a list.
  return normal
    .replace(
      /\bhow many (\p{L}+) (?:are |is )?(?:there )?(?:in |make )?(?:an? )?(\d[\d.]*)? ?(\p{L}+)/gu,
      (all, target: string, count = '1', source) => (isUnit(target) && isUnit(source) ? `${count} ${source} to ${target}` : all),
    )
    .replace(/(\d\s*)(\p{L}+)\s+(?:in|into|to|as)\s+(\p{L}+)/gu, (all, count: string, source: string, target: string) =>
      isUnit(source) && isUnit(target) ? `${count.trim()} ${toUnit(source)} to ${toUnit(target)}` : all,
    )
    .replace(
      /\b(sum|mean|median|max|min|prod|gcd|lcm)\s+(\d[\d.]*(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+)\d[\d.]*)+)/g,
      (_, name, list: string) => {
        return `${name}(${list.split(/[\s,]+(?:and\s+)?/).join(', ')})`
      },
    )
}

function toUnit(word: string): string {
  return spellings[word] ?? spellings[word.replace(/s$/, '')] ?? word
}

function isUnit(word: string): boolean {
  return units.has(word) || toUnit(word) !== word || Object.values(spellings).includes(word)
}

/** The tokens from `start` that may belong to an expression, and the position of the first other token. */
function runFrom(tokens: string[], start: number): { run: string[]; end: number } {
  let end = start
  for (; end < tokens.length; end++) {
    const token = tokens[end]!
    const before = end > start ? tokens[end - 1]! : ''
    const isPart = /^(\d.*|[-+*/^(),!%]|mod)$/.test(token) || functions.includes(token) || constants.includes(token)
    if (!isPart && !(token === 'to' && isUnit(before)) && !(isUnit(token) && /^(\d.*|to|[/*])$/.test(before))) break
  }
  const run = tokens.slice(start, end)
  while (run.length > 0 && /^([-+*/^,(]|mod|to)$/.test(run.at(-1)!)) run.pop()
  const first = run.findIndex((token) => !/^[*/^,)!%]$/.test(token))
  return { run: first === -1 ? [] : run.slice(first), end }
}

function isCalculation(run: string[]): boolean {
  const hasOperation = run.some((token, at) => (at > 0 && /^([-+*/^!]|mod|to)$/.test(token)) || functions.includes(token))
  const isClosed = run.filter((token) => token === '(').length === run.filter((token) => token === ')').length
  const hasNumber = run.some((token) => /^\d/.test(token) || constants.includes(token))
  return hasOperation && isClosed && hasNumber && !run.some((token, at) => /^\d/.test(token) && /^\d/.test(run[at - 1] ?? ''))
}

function write(tokens: string[]): string {
  let text = ''
  for (const [at, token] of tokens.entries()) {
    const before = tokens[at - 1] ?? ''
    // "5 feet 11 inches" is a sum.
    if (/^\d/.test(token) && isUnit(before)) text += ` + ${token}`
    else if (functions.includes(before) && token !== '(') text += `(${token})`
    else if (at === 0 || /^[),!%^]$/.test(token) || /^[(^]$/.test(before) || functions.includes(before)) text += token
    else text += before === '-' && !/^[\d)]/.test(tokens[at - 2] ?? '(') ? token : ` ${token}`
  }
  return text
}
