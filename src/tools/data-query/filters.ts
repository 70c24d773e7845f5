import type { DataFilter } from '../../agent/tool.ts'

export interface Column {
  name: string
  /** Type name of DuckDB: `BIGINT`, `DECIMAL(10,2)`, `VARCHAR[]`. */
  type: string
}

export interface Condition {
  /** Boolean SQL with `$1`, `$2`, ... that never contains any part of a filter's value. */
  sql: string
  values: string[]
}

/**
 * The condition for a row to pass all filters. A filter on a missing column, or with a value outside the type of the column, lets no row
 * through, and NULL passes no filter.
 */
export function toCondition(filters: readonly DataFilter[], columns: readonly Column[]): Condition {
  const values: string[] = []
  const bind = (value: string): string => `$${values.push(value)}::VARCHAR`
  const terms = filters.map((filter) => {
    const column = columns.find(({ name }) => name.toLowerCase() === filter.key.toLowerCase())
    return column ? toTerm(filter, column, bind) : 'false'
  })
  return { sql: terms.length > 0 ? terms.map((term) => `(${term})`).join(' AND ') : 'true', values }
}

function toTerm(filter: DataFilter, column: Column, bind: (value: string) => string): string {
  const name = quoteName(column.name)
  const compared = column.type === 'DATE' ? `CAST(${name} AS TIMESTAMP)` : name
  const typed = (value: string) => toTypedValue(value, column.type, bind)
  switch (filter.type) {
    case 'equals':
      return `${compared} = ${typed(filter.value)}`
    case 'not_equals':
      return `${compared} <> ${typed(filter.value)}`
    case 'in':
      return `${compared} IN (${filter.value
        .split(',')
        .map((part) => typed(part.trim()))
        .join(', ')})`
    case 'contains':
      return `contains(CAST(${name} AS VARCHAR), ${bind(filter.value)})`
    default:
      // A filter type added later must not let rows through by accident.
      return 'false'
  }
}

/** Binds a value with a check of its type. DuckDB's casts round (`'4.7'` becomes the BIGINT 5, DATE drops a time of day), so other rows could match. */
function toTypedValue(value: string, type: string, bind: (value: string) => string): string {
  if (/^U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)$/.test(type)) {
    const whole = /^\s*([+-]?\d+)(\.0*)?\s*$/.exec(value)?.[1]
    return whole === undefined ? 'NULL' : `TRY_CAST(${bind(whole)} AS ${type})`
  }
  const scale = /^DECIMAL\(\d+,(\d+)\)$/.exec(type)?.[1]
  if (scale !== undefined) {
    const trimmed = value.trim()
    const digits = /^[+-]?\d*(?:\.(\d*))?$/.exec(trimmed)
    return digits && significantDigits(digits[1] ?? '') <= Number(scale) ? `TRY_CAST(${bind(trimmed)} AS ${type})` : 'NULL'
  }
  if (type === 'VARCHAR') return bind(value)
  return `TRY_CAST(${bind(value)} AS ${type === 'DATE' ? 'TIMESTAMP' : type})`
}

/** Number of fraction digits without trailing zeros. */
function significantDigits(fraction: string): number {
  let length = fraction.length
  while (fraction[length - 1] === '0') length--
  return length
}

/** A name as an SQL identifier. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
