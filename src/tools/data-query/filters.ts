import type { DataFilter } from '../../agent/tool.ts'

export interface Column {
  name: string
  /** As DuckDB writes it: `BIGINT`, `DECIMAL(10,2)`, `VARCHAR[]`. */
  type: string
}

export interface Condition {
  /** Boolean SQL with `$1`, `$2`, ...; never holds a part of a filter's value. */
  sql: string
  values: string[]
}

/**
 * What a row must meet to pass all filters. A filter on a column that is not there, or with a value that is not one of the
 * column's type, lets nothing through; neither does any filter let NULL through.
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
      // Whoever adds a type of filter must not open what the filter was to close.
      return 'false'
  }
}

/** DuckDB's casts round (`'4.7'` becomes the BIGINT 5, a time of day falls off a DATE), which would let foreign rows match. */
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

/** Of the digits behind the point: zeros at the end do not count. */
function significantDigits(fraction: string): number {
  let length = fraction.length
  while (fraction[length - 1] === '0') length--
  return length
}

/** A name as an SQL identifier. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
