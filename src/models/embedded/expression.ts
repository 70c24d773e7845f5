/** Finds the calculation in a sentence, and converts it to the syntax of mathjs. */

const numberWords: Record<string, number> = Object.fromEntries(
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty'
    .split(' ')
    .map((word, value) => [word, value]),
)
const tens: Record<string, number> = {
  thirty: 30,
  forty: 40,
  fifty: 50,
  sixty: 60,
  seventy: 70,
  eighty: 80,
  ninety: 90,
  hundred: 100,
  thousand: 1000,
}

/** Maps spellings of units to the units of mathjs. */
const units: Record<string, string> = {
  ...withSpellings('km m cm mm mi ft kg g lb oz mg l ml kb mb gb tb kWh kW W J N Pa bar psi rad deg'),
  ...withSpellings('meter metre kilometer centimeter millimeter mile yard foot inch acre hectare gram kilogram ton tonne pound ounce'),
  ...withSpellings('liter litre milliliter gallon pint cup second minute hour day week month year byte knot joule watt'),
  kilometre: 'kilometer',
  kilometres: 'kilometer',
  metre: 'meter',
  litre: 'liter',
  millilitre: 'milliliter',
  feet: 'foot',
  inches: 'inch',
  celsius: 'degC',
  '°c': 'degC',
  fahrenheit: 'degF',
  '°f': 'degF',
  kelvin: 'K',
  lbs: 'lb',
  pound: 'lb',
  pounds: 'lb',
  kph: 'km/h',
  mph: 'mi/h',
  tonne: 'tonne',
  tonnes: 'tonne',
  kilo: 'kg',
  kilos: 'kg',
  ounce: 'oz',
  ounces: 'oz',
}

function withSpellings(names: string): Record<string, string> {
  return Object.fromEntries(
    names.split(' ').flatMap((name) => [
      [name, name],
      [name.toLowerCase(), name],
      [`${name}s`, name],
    ]),
  )
}

const functions = 'sqrt cbrt sin cos tan log log10 log2 ln exp abs round floor ceil mean median max min gcd lcm factorial sum prod'.split(
  ' ',
)
const constants = ['pi', 'e']

const number = String.raw`(\d+(?:\.\d+)?)`

/** Phrases with an order of operands that differs from the formula. */
const phrases: [RegExp, string][] = [
  [/(\d),(?=\d{3}(?!\d))/g, '$1'],
  [/[$€£](?=\d)/g, ''],
  [/[×·]/g, '*'],
  [/÷/g, '/'],
  [/[−–]/g, '-'],
  [/²/g, '^2'],
  [/³/g, '^3'],
  [/√/g, 'sqrt '],
  [/\bper\s?cent\b/g, '%'],
  [/\b(half|a half) of\b/g, '1 / 2 *'],
  [/\b(a |one )?third of\b/g, '1 / 3 *'],
  [/\b(a |one )?quarter of\b/g, '1 / 4 *'],
  [/\b(twice|double)( of)?\b/g, '2 *'],
  [new RegExp(`${number}\\s*% off( of)? ${number}`, 'g'), '$3 * (100 - $1) / 100'],
  [new RegExp(`${number}\\s*% (?:more|higher) than ${number}`, 'g'), '$2 * (100 + $1) / 100'],
  [new RegExp(`${number}\\s*% less than ${number}`, 'g'), '$2 * (100 - $1) / 100'],
  [new RegExp(`\\b(?:increase|raise) ${number} by ${number}\\s*%`, 'g'), '$1 * (100 + $2) / 100'],
  [new RegExp(`\\b(?:decrease|reduce|lower) ${number} by ${number}\\s*%`, 'g'), '$1 * (100 - $2) / 100'],
  // Multiplying before dividing stays exact, while 0.17 would not be.
  [new RegExp(`${number}\\s*%\\s*(?:of|on) ${number}`, 'g'), '$2 * $1 / 100'],
  [new RegExp(`\\bwhat (?:percent|%|percentage) (?:of ${number} is ${number})`, 'g'), '$2 / $1 * 100'],
  [new RegExp(`${number} is what (?:percentage|percent|%) of ${number}`, 'g'), '$1 / $2 * 100'],
  [/\b(plus|added to|and then add)\b/g, '+'],
  [/\bminus\b/g, '-'],
  [/\b(times|multiplied by)\b/g, '*'],
  [/\b(divided by|over)\b/g, '/'],
  [/(?<=\d )x(?= \d)|(?<=\d)x(?=\d)/g, '*'],
  [/\bto the power( of)?\b|\braised to\b|\*\*/g, '^'],
  [/\bsquared\b/g, '^2'],
  [/\bcubed\b/g, '^3'],
  [/\bmodulo\b/g, 'mod'],
  [new RegExp(`\\bsubtract ${number} from ${number}`, 'g'), '$2 - $1'],
  [new RegExp(`\\badd ${number} (?:and|to) ${number}`, 'g'), '$1 + $2'],
  [new RegExp(`\\bmultiply ${number} (?:by|and|with) ${number}`, 'g'), '$1 * $2'],
  [new RegExp(`\\bdivide ${number} by ${number}`, 'g'), '$1 / $2'],
  [new RegExp(`\\b(?:the )?difference (?:between|of) ${number} and ${number}`, 'g'), '$1 - $2'],
]

const functionPhrases: [RegExp, string][] = [
  [/\b(?:the )?square root of\b/g, 'sqrt'],
  [/\b(?:the )?cube root of\b/g, 'cbrt'],
  [/\b(?:the )?factorial of\b/g, 'factorial'],
  [/\b(?:the )?(?:natural )?log(?:arithm)? of\b/g, 'log'],
  [/\b(?:the )?(?:average|mean) of\b/g, 'mean'],
  [/\b(?:the )?median of\b/g, 'median'],
  [/\b(?:the )?sum of\b/g, 'sum'],
  [/\b(?:the )?product of\b/g, 'prod'],
  [/\b(?:the )?(?:largest|maximum|biggest) of\b/g, 'max'],
  [/\b(?:the )?(?:smallest|minimum) of\b/g, 'min'],
  [/\b(?:the )?(sine|cosine|tangent) of\b/g, '$1'],
]

export interface FoundCalculation {
  /** Expression in the syntax of mathjs. */
  expression: string
  /** True if the sentence has no further content. */
  isAll: boolean
}

/** Finds the longest expression with at least a number and an operation. Dates are no expressions. */
export function findExpression(text: string): FoundCalculation | undefined {
  const normal = normalise(text)
  const tokens = [...normal.matchAll(/\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\d\p{L}])|[°\p{L}][\p{L}\d_]*|[-+*/^(),!%]|\S/gu)].map(
    (match) => match[0],
  )
  let best: string[] = []
  for (let start = 0; start < tokens.length; start++) {
    const { run, end } = runFrom(tokens, start)
    if (run.length > best.length && isCalculation(run)) best = run
    // A run that starts inside of this run would be a part of this run.
    start = Math.max(start, end - 1)
  }
  if (best.length === 0) return undefined
  const remainder = tokens.filter((token) => /[\p{L}\d]/u.test(token)).length - best.filter((token) => /[\p{L}\d]/u.test(token)).length
  return { expression: write(best), isAll: remainder <= fillers(tokens) }
}

const filler =
  /^(what|is|s|the|calculate|compute|evaluate|how|much|many|please|me|tell|convert|result|value|of|work|out|are|there|make|does|equal|can|you|a|vat|tax|tip|discount|interest)$/

function fillers(tokens: string[]): number {
  return tokens.filter((token) => filler.test(token)).length
}

function normalise(text: string): string {
  let normal = ` ${text
    .toLowerCase()
    .replace(/\b\d{4}-\d{2}(-\d{2})?\b/g, 'date')
    .replace(/[?]|[.!](?=\s|$)(?<!\d!)/g, ' ')} `
  normal = normal.replace(/\b[a-z]+\b/g, (word) => String(numberWords[word] ?? tens[word] ?? word))
  for (const [pattern, replacement] of phrases) normal = normal.replace(pattern, replacement)
  for (const [pattern, replacement] of functionPhrases) normal = normal.replace(pattern, replacement)
  normal = normal
    .replace(/\bsine\b/g, 'sin')
    .replace(/\bcosine\b/g, 'cos')
    .replace(/\btangent\b/g, 'tan')
  // "sum of 3, 4 and 5" is a list, "5 km in miles" a conversion.
  normal = normal.replace(
    /\b(sum|mean|median|max|min|prod|gcd|lcm)\s+((?:\d[\d.]*(?:\s*,\s*(?:and\s+)?|\s+and\s+))+\d[\d.]*)/g,
    (_, name: string, list: string) => {
      return `${name}(${list.replace(/\s*,\s*(?:and\s+)?|\s+and\s+/g, ', ')})`
    },
  )
  normal = normal.replace(
    /\bhow many ([\p{L}]+) (?:are |is |make )?(?:there )?(?:in|are) (?:a |an )?(\d[\d.]*)? ?(\p{L}+)/gu,
    (all, target: string, count = '1', source: string) => (units[target] && units[source] ? `${count} ${source} to ${target}` : all),
  )
  return normal.replace(
    /(\d[\d.]*)\s*(?:degrees?\s+)?(°?\p{L}+)\s+(?:in|into|to|as)\s+(?:degrees?\s+)?(°?\p{L}+)/gu,
    (all, count: string, source: string, target: string) =>
      units[source] && units[target] ? `${count} ${units[source]} to ${units[target]}` : all,
  )
}

const unitWords: ReadonlySet<string> = new Set([...Object.keys(units), ...Object.values(units)])

/** The tokens from `start` that may belong to an expression, and the position of the first other token. */
function runFrom(tokens: string[], start: number): { run: string[]; end: number } {
  const isUnit = (token: string) => unitWords.has(token)
  let end = start
  for (; end < tokens.length; end++) {
    const token = tokens[end]!
    const isPart = /^(\d.*|[-+*/^(),!%])$/.test(token) || functions.includes(token) || constants.includes(token) || token === 'mod'
    const afterNumber = /^\d/.test(tokens[end - 1] ?? '') || tokens[end - 1] === 'to' || /^[/*]$/.test(tokens[end - 1] ?? '')
    const isConversion = token === 'to' && end > start && isUnit(tokens[end - 1]!)
    if (!isPart && !isConversion && !(afterNumber && end > start && isUnit(token))) break
  }
  const run = tokens.slice(start, end)
  while (run.length > 0 && /^([-+*/^,(]|mod|to)$/.test(run.at(-1)!)) run.pop()
  const first = run.findIndex((token) => !/^[*/^,)!%]$/.test(token))
  return { run: first === -1 ? [] : run.slice(first), end }
}

function isCalculation(run: string[]): boolean {
  const hasOperation = run.some((token, at) => (at > 0 && /^([-+*/^!]|mod|to)$/.test(token)) || functions.includes(token))
  const opened = run.filter((token) => token === '(').length === run.filter((token) => token === ')').length
  return hasOperation && opened && run.some((token) => /^\d/.test(token) || constants.includes(token)) && !run.some(isSecondNumber)
}

/** True for a number after a number, which makes the run invalid. */
function isSecondNumber(token: string, at: number, run: string[]): boolean {
  return /^\d/.test(token) && /^\d/.test(run[at - 1] ?? '')
}

function write(tokens: string[]): string {
  let text = ''
  for (const [at, token] of tokens.entries()) {
    const before = tokens[at - 1]
    const closesCall = before !== undefined && functions.includes(before) && token !== '('
    if (closesCall) text += `(${token})`
    else if (at === 0 || /^[),!%^]$/.test(token) || before === '(' || before === '^' || (token === '(' && functions.includes(before!)))
      text += token
    else if (token === '-' || before !== '-' || /^[\d)]/.test(tokens[at - 2] ?? '(')) text += ` ${token}`
    else text += token
  }
  return text
}
