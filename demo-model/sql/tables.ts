import { stem, wordsOf } from '../language/words.ts'

/** The tables of a query tool, from its description. Each line has the form `- sales: date DATE, region VARCHAR (East, North), amount DOUBLE`. */

export interface Table {
  name: string
  columns: Column[]
}

export interface Column {
  table: string
  name: string
  kind: 'date' | 'number' | 'text' | 'boolean' | 'other'
  /** True for integer types. */
  isWhole: boolean
  /** Distinct values of a text column, as far as they are known. */
  values: string[]
  /** True if `values` has all values of the column. */
  isListed: boolean
}

export function parseTables(description: string): Table[] {
  return description.split('\n').flatMap((line) => {
    const [, name, columns] = /^\s*-\s+"?([^\s":][^":]*)"?:\s+(\S.*)$/.exec(line) ?? []
    const parsed = name && columns ? splitOutside(columns).flatMap((text) => toColumn(name, text)) : []
    return name && parsed.length > 0 ? [{ name, columns: parsed }] : []
  })
}

/** Splits a text at commas outside of parentheses. */
function splitOutside(text: string): string[] {
  const parts = ['']
  let depth = 0
  for (const sign of text) {
    depth += sign === '(' ? 1 : sign === ')' ? -1 : 0
    if (sign === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += sign
  }
  return parts.map((part) => part.trim())
}

function toColumn(table: string, text: string): Column[] {
  const [, name, type, list] = /^"?(.+?)"?\s+([A-Z][A-Z0-9_]*(?: [A-Z]+)*(?:\([^()]*\))?(?:\[\d*\])*)(?:\s+\((.*)\))?$/.exec(text) ?? []
  if (!name || !type) return []
  const kind = kinds.find(([pattern]) => pattern.test(type))?.[1] ?? 'other'
  const values = kind === 'text' && list ? list.split(',').map((value) => value.trim()) : []
  return [{ table, name, kind, isWhole: type.includes('INT'), values: values.filter(Boolean), isListed: values.length > 0 }]
}

const kinds: [pattern: RegExp, kind: Column['kind']][] = [
  [/\[/, 'other'],
  [/^(?:DATE|TIMESTAMP)/, 'date'],
  [/^U?(?:TINY|SMALL|BIG|HUGE)?INT|^(?:DECIMAL|DOUBLE|FLOAT|REAL|NUMERIC)/, 'number'],
  [/^(?:VARCHAR|TEXT|ENUM)/, 'text'],
  [/^BOOL/, 'boolean'],
]

const moneyNames = 'amount revenue sales turnover total income value net gross eur usd gbp price'.split(' ')
const countNames = 'units unit quantity qty pieces items count'.split(' ')
/** Parts of names of columns with meaningless sums. */
const rates = 'price rate ratio percent percentage share average avg mean age score rating year cost margin temperature weight'.split(' ')
const identifiers = 'id no nr number code zip year sku postcode'.split(' ')

const hasPart = ({ name }: Column, parts: readonly string[]) => wordsOf(name).some((word) => parts.includes(word))
const numbersOf = ({ columns }: Table) => columns.filter(({ kind }) => kind === 'number')

function findNamed(names: readonly string[], columns: readonly Column[]): Column | undefined {
  return names.flatMap((name) => columns.filter((column) => hasPart(column, [name])))[0]
}

/** The main numeric column of a table: money first, then quantities, then any number. */
export function mainMeasure(table: Table): Column | undefined {
  const numbers = numbersOf(table).filter((column) => !hasPart(column, identifiers))
  const additive = numbers.filter(isAdditive)
  return findNamed(moneyNames, additive) ?? findNamed(countNames, additive) ?? additive.at(-1) ?? numbers.at(-1)
}

export function pieceMeasure(table: Table): Column | undefined {
  return numbersOf(table).find(({ name }) => countNames.includes(name.toLowerCase()))
}

/** True for the number of pieces in stock. */
export function isStock({ name, kind }: Column): boolean {
  return kind === 'number' && /stock|inventory/i.test(name)
}

/** The column of prices, or of costs if there are no prices. */
export function priceMeasure(table: Table): Column | undefined {
  return findNamed(['price', 'fee', 'cost'], numbersOf(table))
}

/** True if the table has revenue: "sales" and "revenue" then mean the main measure. */
export function hasRevenue(table: Table): boolean {
  const main = mainMeasure(table)
  return main !== undefined && hasPart(main, moneyNames) && isAdditive(main)
}

/** False for prices, rates and years: such sums are meaningless. */
export function isAdditive(column: Column): boolean {
  return !hasPart(column, rates)
}

/** The column with the name of the thing that a row describes. */
export function nameColumn(table: Table): Column | undefined {
  const texts = table.columns.filter(({ kind }) => kind === 'text')
  const stems = stemsOfName(table.name)
  return (
    texts.find(({ name }) => name.toLowerCase() === 'name') ??
    texts.find(({ name }) => stemsOfName(name).every((part) => stems.includes(part))) ??
    texts.find((column) => !hasPart(column, identifiers)) ??
    texts[0]
  )
}

/** True if the name of a column suggests a distinct value for each row of the table. */
export function nameIsRow(table: Table, column: Column): boolean {
  const stems = stemsOfName(table.name)
  return stemsOfName(column.name).some((part) => stems.includes(part))
}

/** The text column that joins a table to another: the column that identifies the rows of the joined table. */
export function joinColumn(table: Table, joined: Table): Column | undefined {
  const isShared = (name: string) => table.columns.some((column) => column.name === name)
  // A key of `order_lines` would name lines: `order_id` alone repeats.
  const isKey = (name: string) => stemsOfName(joined.name).every((part) => stemsOfName(name).includes(part))
  return joined.columns.find(({ kind, name }) => kind === 'text' && isShared(name) && isKey(name))
}

export function stemsOfName(name: string): string[] {
  return wordsOf(name).map(stem)
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

export function quoteText(value: string): string {
  return `'${value.replaceAll("'", "''")}'`
}
