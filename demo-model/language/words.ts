/** Splits texts into words, and normalises them: lower case, without endings, synonyms unified. */

/** A word of a question. A reader that understands the word claims it, so that no word is dropped without notice. */
export interface Word {
  /** As written, without signs around it. */
  text: string
  lower: string
  stem: string
  /** The role of the word, such as `value` or `date`. Undefined: no role so far. */
  use?: string
}

/** The words of a list, for constants. */
export function setOf(words: string): ReadonlySet<string> {
  return new Set(words.split(' '))
}

export const currencies = setOf('€ $ £ eur euro euros usd dollar dollars gbp pound pounds')

const stopWords = new Set(
  (
    'a an the this that these those is are was were be been being am do does did done have has had having will would can could shall should ' +
    'may might must i you he she it we they me him her us them my your his its our their of in on at to from by for with about into as and or ' +
    'but if then so than too very just also please tell show give let lets what which who whom whose when where why how there here not no yes ' +
    'any some all each every s t re ve ll m d get got up out over under again know want need like use using make made many much more both either wait sorry right okay ok he she hers pls plz'
  ).split(' '),
)

/** Synonyms. The first word of a line replaces the others. The list is short, because a wrong synonym costs more than a missing one. */
const synonyms = toSynonyms([
  'leave vacation holiday pto',
  'sick ill illness sickness',
  'remote wfh telework',
  'expense reimburse reimbursement',
  'parental maternity paternity',
  'time clock',
  'date today',
  'calculate compute calculation calculator arithmetic',
  'search find lookup look',
  'list enumerate',
  'file document',
  'revenue turnover income',
  'customer client member',
  'staff employee',
  'password passphrase',
])

function toSynonyms(lines: string[]): Map<string, string> {
  return new Map(lines.flatMap((line) => line.split(' ').map((word): [string, string] => [cut(word), cut(line.split(' ')[0]!)])))
}

/** Removes the ending of a word: `policies` and `policy`, `expensed` and `expense` become equal. */
export function stem(word: string): string {
  const short = cut(word)
  return synonyms.get(short) ?? short
}

function cut(word: string): string {
  if (word.length <= 3) return word
  let short = word
  if (short.endsWith('ies')) short = `${short.slice(0, -3)}y`
  else if (['ss', 'us', 'is'].some((end) => short.endsWith(end))) return short
  else if (['xes', 'ches', 'shes', 'sses'].some((end) => short.endsWith(end))) short = short.slice(0, -2)
  else if (short.endsWith('s')) short = short.slice(0, -1)
  if (short.length > 5 && short.endsWith('ing')) short = short.slice(0, -3)
  else if (short.length > 4 && short.endsWith('ied')) short = `${short.slice(0, -3)}y`
  else if (short.length > 4 && short.endsWith('ed')) short = short.slice(0, -2)
  if (short.length > 3 && short.at(-1) === short.at(-2) && 'bdglmnprt'.includes(short.at(-1)!)) short = short.slice(0, -1)
  if (short.length > 4 && short.endsWith('e')) short = short.slice(0, -1)
  // "Knives" are more than one "knife".
  return short.length > 3 && short.endsWith('v') ? `${short.slice(0, -1)}f` : short
}

const gaps = /[\s"“”`(){}[\]<>,;!?|*=‘]+/u
/** Signs around a word. */
const signs = new Set(".:-–—/'’…_&#~+")
const endings = new Set(['s', 're', 'm', 've', 'll', 'd'])

/** The words of a text, in order. `O-1001`, `ann@example.com`, `data/sales.csv`, `2025-03-01` and `20%` are single words. */
export function readWords(text: string): Word[] {
  const plain = text
    .replace(/(\d),(?=\d{3}(?!\d))/g, '$1')
    .replace(/(\d) ?%/g, '$1% ')
    .replace(/(?<!\S)%(?!\S)/g, 'percent')
    .replace(/[€$£]/g, ' $& ')
  return plain.split(gaps).flatMap((chunk) => toTokens(trimSigns(chunk)).map(toWord))
}

function toWord(text: string): Word {
  const lower = text.toLowerCase()
  return { text, lower, stem: stem(lower) }
}

function trimSigns(chunk: string): string {
  let [start, end] = [0, chunk.length]
  while (start < end && signs.has(chunk[start]!)) start++
  while (end > start && signs.has(chunk[end - 1]!)) end--
  const isNegative = chunk[start - 1] === '-' && /\d/.test(chunk[start] ?? '')
  return chunk.slice(isNegative ? start - 1 : start, end)
}

function toTokens(chunk: string): string[] {
  if (chunk === '') return []
  if (isLiteral(chunk)) return [chunk]
  const [front = '', ending = ''] = chunk.split(/['’]/)
  const bare = ending !== '' && endings.has(ending.toLowerCase()) ? front : chunk.replaceAll('’', "'")
  return bare.match(/[\p{L}\p{N}]+(?:'\p{L}+)?|[€$£]/gu) ?? []
}

/** True for a number with signs, an identifier, an address, a path or the name of a file. */
function isLiteral(chunk: string): boolean {
  return chunk.includes('@') || /\d[-._:/]|[-._/]\d|\.\p{L}{2,4}$|^-?\d+%?$/u.test(chunk) || (chunk.includes('/') && chunk.includes('.'))
}

/** The lower-case words of a text or of a name such as `orderId` and `unit_price`. */
export function wordsOf(text: string): string[] {
  return readWords(text.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').replaceAll('_', ' ')).map(({ lower }) => lower)
}

export function isStopWord(word: string): boolean {
  return stopWords.has(word)
}

/** Stems of the words of a text, without stop words. */
export function stemsOf(text: string): Set<string> {
  return new Set(wordsOf(text).flatMap((word) => (stopWords.has(word) ? [] : [stem(word)])))
}

/** The unclaimed words with content. */
export function unusedOf(words: readonly Word[]): Word[] {
  return words.filter(({ use, lower }) => use === undefined && !stopWords.has(lower))
}
