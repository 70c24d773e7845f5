/** Normalised words for comparisons of the embedded model: lower case, without endings, synonyms unified. */

const stopWords = new Set(
  (
    'a an the this that these those is are was were be been being am do does did done have has had having will would can could shall should ' +
    'may might must i you he she it we they me him her us them my your his its our their of in on at to from by for with about into as and or ' +
    'but if then so than too very just also please tell show give let lets what which who whom whose when where why how there here not no yes ' +
    'any some all each every s t re ve ll m d get got up out over under again know want need like use using make'
  ).split(' '),
)

/** Synonyms. The first word of a line replaces the other words. The list is short, because a wrong synonym costs more than a missing synonym. */
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
  'customer client',
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
  else if (/(ss|us|is)$/.test(short)) return short
  else if (/(x|ch|sh|ss)es$/.test(short)) short = short.slice(0, -2)
  else if (short.endsWith('s')) short = short.slice(0, -1)
  if (short.length > 5 && short.endsWith('ing')) short = short.slice(0, -3)
  else if (short.length > 4 && short.endsWith('ed')) short = short.slice(0, -2)
  if (/([bdgmnprt])\1$/.test(short)) short = short.slice(0, -1)
  return short.length > 4 && short.endsWith('e') ? short.slice(0, -1) : short
}

/** Splits a text into lower-case words, including `snake_case` and `camelCase`. */
export function wordsOf(text: string): string[] {
  return (
    text
      .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
      .toLowerCase()
      .match(/\p{L}+|\p{N}+/gu) ?? []
  )
}

export function isStopWord(word: string): boolean {
  return stopWords.has(word)
}

/** Stems of the words of a text, without stop words. */
export function stemsOf(text: string): Set<string> {
  return new Set(
    wordsOf(text)
      .filter((word) => !stopWords.has(word))
      .map(stem),
  )
}
