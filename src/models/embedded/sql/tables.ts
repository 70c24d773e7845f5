import { stem, wordsOf } from '../words.ts'

/** Parses the tables in the description of a tool. Each line has the form `- sales: date DATE, region VARCHAR (East, North), amount DOUBLE`. */

export interface Table {
  name: string
  columns: Column[]
}

export interface Column {
  table: string
  name: string
  kind: 'date' | 'number' | 'text' | 'other'
  /** True for integer types. */
  isWhole: boolean
  /** Distinct values of a text column with few values. */
  values: string[]
}

export function parseTables(description: string): Table[] {
  return description.split('\n').flatMap((line) => {
    const [, name, columns] = /^\s*-\s+"?([^\s":][^":]*)"?:\s+(\S.*)$/.exec(line) ?? []
    if (!name || !columns) return []
    const parsed = splitOutside(columns).flatMap((text) => toColumn(name, text))
    return parsed.length > 0 ? [{ name, columns: parsed }] : []
  })
}

/** Splits a text at commas outside of parentheses. */
function splitOutside(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '(') depth++
    else if (text[at] === ')') depth--
    else if (text[at] === ',' && depth === 0) {
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  return [...parts, text.slice(start)].map((part) => part.trim())
}

function toColumn(table: string, text: string): Column[] {
  const [, name, type, values] = /^"?(.+?)"?\s+([A-Z][A-Z0-9_]*(?: [A-Z]+)*(?:\([^()]*\))?(?:\[\d*\])*)(?:\s+\((.*)\))?$/.exec(text) ?? []
  if (!name || !type) return []
  const listedValues = kindOf(type) === 'text' && values ? values.split(',').map((value) => value.trim()) : []
  return [
    {
      table,
      name,
      kind: kindOf(type),
      isWhole: /INT/.test(type),
      values: listedValues.filter((value) => value !== '' && value !== '...' && value !== '…'),
    },
  ]
}

function kindOf(type: string): Column['kind'] {
  if (/\[|^STRUCT|^MAP/.test(type)) return 'other'
  if (/^(DATE|TIMESTAMP)/.test(type)) return 'date'
  if (/^(U?(TINY|SMALL|BIG|HUGE)?INT|INTEGER|UINTEGER|DECIMAL|DOUBLE|FLOAT|REAL|NUMERIC)/.test(type)) return 'number'
  return /^(VARCHAR|TEXT|ENUM)/.test(type) ? 'text' : 'other'
}

const moneyNames = ['amount', 'revenue', 'sales', 'turnover', 'total', 'income', 'value', 'net', 'gross', 'price']
const countNames = ['units', 'unit', 'quantity', 'qty', 'pieces', 'items', 'count']

/** The main numeric column of a table: money first, then quantities, then any number. */
export function mainMeasure(table: Table): Column | undefined {
  const numbers = table.columns.filter((column) => column.kind === 'number' && !isIdentifier(column))
  const additive = numbers.filter(isAdditive)
  const byName = (names: string[], candidates: Column[]) =>
    names.flatMap((name) => candidates.filter((column) => wordsOf(column.name).includes(name)))[0]
  return byName(moneyNames, additive) ?? byName(countNames, additive) ?? additive.at(-1) ?? numbers.at(-1)
}

export function pieceMeasure(table: Table): Column | undefined {
  return table.columns.find((column) => column.kind === 'number' && countNames.includes(column.name.toLowerCase()))
}

export function priceMeasure(table: Table): Column | undefined {
  return table.columns.find((column) => column.kind === 'number' && /price|cost|fee/i.test(column.name))
}

/** True if the table has revenue, so that "sales" and "revenue" mean its main measure. */
export function hasRevenue(table: Table): boolean {
  const main = mainMeasure(table)
  return main !== undefined && wordsOf(main.name).some((word) => moneyNames.includes(word)) && isAdditive(main)
}

/** False for prices, rates and years, whose sums are meaningless. */
export function isAdditive(column: Column): boolean {
  return !wordsOf(column.name).some((word) =>
    /^(price|rate|ratio|percent|percentage|share|average|avg|mean|age|score|rating|year|cost|margin|temperature)$/.test(word),
  )
}

function isIdentifier(column: Column): boolean {
  return wordsOf(column.name).some((word) => /^(id|no|nr|number|code|zip|year)$/.test(word))
}

/** The column with the name of the thing that a row describes. */
export function nameColumn(table: Table): Column | undefined {
  const texts = table.columns.filter((column) => column.kind === 'text')
  const tableStems = wordsOf(table.name).map(stem)
  return (
    texts.find((column) => column.name.toLowerCase() === 'name') ??
    texts.find((column) => wordsOf(column.name).every((word) => tableStems.includes(stem(word)))) ??
    texts.find((column) => !isIdentifier(column)) ??
    texts[0]
  )
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

export function quoteText(value: string): string {
  return `'${value.replaceAll("'", "''")}'`
}
