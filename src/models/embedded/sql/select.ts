import { wordsOf } from '../words.ts'
import { joinColumn, nameIsRow, type Aggregate, type Group, type Reading } from './reading.ts'
import { hasRevenue, isAdditive, mainMeasure, nameColumn, quoteName, type Column, type Table } from './tables.ts'

/** Default number of rows of a list. */
const listLimit = 20
/** Default number of places of a ranking. */
const rankLimit = 10

/** Merges a follow-up with the reading before: "and for the South?" keeps the measure and the time, and replaces the region. */
export function merge(before: Reading, next: Reading): Reading {
  const conditions = new Map(before.conditions)
  for (const [key, condition] of next.conditions) conditions.set(key, condition)
  const replaced = new Set([...next.conditions].filter(([, condition]) => condition.single).map(([key]) => key))
  const keptGroups = before.groups.filter((group) => !replaced.has(group.column.name) || group.grain !== undefined)
  return {
    ...before,
    conditions,
    aggregate: next.aggregate ?? before.aggregate,
    measures: next.measures.length > 0 ? next.measures : before.measures,
    counted: next.measures.length > 0 ? next.counted : (next.counted ?? before.counted),
    groups: next.groups.length > 0 ? next.groups : keptGroups,
    numbers: next.numbers.length > 0 ? next.numbers : before.numbers,
    order: next.order ?? before.order,
    byTime: next.order ? next.byTime : before.byTime,
    limit: next.limit ?? before.limit,
    columns: next.columns.length > 0 && next.groups.length === 0 ? next.columns : before.columns,
    share: next.share || before.share,
    hits: [...before.hits, ...next.hits],
  }
}

/** Creates a SELECT in DuckDB's dialect, with quoted names and values. */
export function writeSelect(reading: Reading): string {
  return isList(reading) ? writeList(reading) : writeFigures(reading)
}

/** True if the question asks for rows: no aggregate, no grouping, and no additive measure by itself. */
function isList(reading: Reading): boolean {
  if (reading.aggregate !== undefined || reading.groups.length > 0 || reading.share) return false
  if (reading.order !== undefined || reading.limit !== undefined) return isAboutRows(reading)
  if (reading.measures.length === 0) return reading.rows || reading.columns.length > 0 || !hasRevenue(reading.table)
  if (reading.measures.every((column) => !isAdditive(column))) return true
  return reading.columns.length > 0 || (!hasRevenue(reading.table) && (reading.rows || reading.conditions.size > 0))
}

/** True if a ranking asks for rows ("the largest sale", "top 5 customers"), false for a figure ("the highest amount"). */
function isAboutRows({ table, hits, measures, limit, columns }: Reading): boolean {
  const tableName = table.name.toLowerCase()
  const isNamed = hits.some((hit) => tableName === hit || tableName === `${hit}s` || tableName.replace(/ies$/, 'y') === hit)
  return (
    limit !== undefined ||
    isNamed ||
    columns.length > 0 ||
    measures.some(
      (column) => !isAdditive(column) && table.columns.some((textColumn) => textColumn.kind === 'text' && nameIsRow(table, textColumn)),
    )
  )
}

function writeList(reading: Reading): string {
  const { table, order, limit } = reading
  const isDistinct =
    reading.columns.length > 0 &&
    reading.measures.length === 0 &&
    order === undefined &&
    !reading.columns.some((column) => nameIsRow(table, column))
  const conditioned = [...reading.conditions.values()].map((condition) => condition.column)
  const measure = reading.measures[0]
  const needsName = reading.measures.length > 0 || reading.columns.some((column) => nameIsRow(table, column))
  const name = needsName && !hasRevenue(table) ? nameColumn(table) : undefined
  const selected = unique([...(name ? [name] : []), ...reading.columns, ...(measure ? conditioned : []), ...reading.measures])
  const isWhole =
    (reading.columns.length === 0 && reading.measures.length === 0) ||
    (order !== undefined && hasRevenue(table) && reading.columns.length === 0)
  const columns = isWhole ? '*' : selected.map((column) => quoteName(column.name)).join(', ')
  const orderColumn = order && (reading.byTime ? dateColumn(table) : (measure ?? mainMeasure(table) ?? dateColumn(table)))
  return [
    `SELECT ${(isDistinct || (measure && !order && hasRevenue(table))) && columns !== '*' ? 'DISTINCT ' : ''}${columns}`,
    `FROM ${fromClause(reading)}`,
    ...where(reading),
    ...(orderColumn ? [`ORDER BY ${quoteName(orderColumn.name)} ${order}`] : isDistinct ? ['ORDER BY 1'] : []),
    `LIMIT ${limit ?? (order ? 1 : listLimit)}`,
  ].join(' ')
}

function dateColumn(table: Table): Column | undefined {
  return table.columns.find((column) => column.kind === 'date')
}

function writeFigures(reading: Reading): string {
  const figures = figuresOf(reading)
  const groups = reading.groups.map(toGroup)
  const having = reading.groups.length > 0 ? havingOf(reading, figures[0]!.sql) : []
  const select = [
    ...groups.map((group) => `${group.sql}${group.alias}`),
    ...figures.map((figure) => `${figure.sql} AS ${quoteName(figure.name)}`),
  ]
  if (reading.share && reading.groups.length > 0) {
    select.push(`round(100 * ${figures[0]!.sql} / sum(${figures[0]!.sql}) OVER (), 1) AS "share_percent"`)
  }
  return [
    `SELECT ${select.join(', ')}`,
    `FROM ${fromClause(reading)}`,
    ...where(reading, reading.groups.length > 0),
    ...(groups.length > 0 ? ['GROUP BY ALL'] : []),
    ...(having.length > 0 ? [`HAVING ${having.join(' AND ')}`] : []),
    ...orderOf(reading, figures[0]!.name),
  ].join(' ')
}

interface Figure {
  sql: string
  name: string
}

function figuresOf(reading: Reading): Figure[] {
  const { table, counted, measures } = reading
  if (counted && measures.length === 0) return [{ sql: `count(DISTINCT ${quoteName(counted.name)})`, name: `number_of_${counted.name}s` }]
  const main = mainMeasure(table)
  const columns =
    measures.length > 0 ? measures : reading.aggregate !== 'count' && main && (hasRevenue(table) || reading.aggregate) ? [main] : []
  if (columns.length === 0) return [{ sql: 'count(*)', name: `number_of_${table.name}` }]
  return columns.map((column) => toFigure(column, aggregateOf(reading, column)))
}

function aggregateOf(reading: Reading, column: Column): Aggregate {
  const isRanked = reading.groups.length > 0 && !reading.hits.includes('by')
  if (reading.aggregate && reading.aggregate !== 'count') return reading.aggregate
  if (reading.order && (!isRanked || !isAdditive(column))) return reading.order === 'DESC' ? 'max' : 'min'
  return isAdditive(column) ? 'sum' : 'avg'
}

const aliases: Record<Aggregate, string> = {
  sum: 'total',
  avg: 'average',
  median: 'median',
  count: 'number_of',
  max: 'highest',
  min: 'lowest',
}

function toFigure(column: Column, aggregate: Aggregate): Figure {
  const call = `${aggregate}(${quoteName(column.name)})`
  const sql = (aggregate === 'sum' && !column.isWhole) || aggregate === 'avg' ? `round(${call}, 2)` : call
  const name = wordsOf(column.name)[0] === aliases[aggregate] ? column.name : `${aliases[aggregate]}_${column.name}`
  return { sql, name }
}

function toGroup({ column, grain }: Group): { sql: string; alias: string } {
  const name = quoteName(column.name)
  if (grain === 'month') return { sql: `strftime(${name}, '%Y-%m')`, alias: ' AS "month"' }
  if (grain === 'quarter') return { sql: `strftime(${name}, '%Y') || '-Q' || quarter(${name})`, alias: ' AS "quarter"' }
  if (grain === 'week') return { sql: `strftime(${name}, '%G-W%V')`, alias: ' AS "week"' }
  if (grain === 'year') return { sql: `strftime(${name}, '%Y')`, alias: ' AS "year"' }
  return grain === 'day' ? { sql: `CAST(${name} AS DATE)`, alias: ' AS "day"' } : { sql: name, alias: '' }
}

function orderOf(reading: Reading, figure: string): string[] {
  if (reading.groups.length === 0) return []
  const limit = reading.limit ? [`LIMIT ${reading.limit}`] : []
  const isTime = reading.groups.some((group) => group.grain)
  if (reading.order) return [`ORDER BY ${quoteName(figure)} ${reading.order}`, `LIMIT ${reading.limit ?? rankLimit}`]
  // A single grouping is sorted by its figure. Several groupings and times are sorted by the groupings.
  return reading.groups.length > 1 || isTime ? ['ORDER BY ALL', ...limit] : [`ORDER BY ${quoteName(figure)} DESC`, ...limit]
}

function where(reading: Reading, isGrouped = false): string[] {
  const numbers = reading.numbers.flatMap(({ column, comparison }) => {
    const subject = column ?? reading.measures[0] ?? mainMeasure(reading.table)
    return subject && !(isGrouped && isHaving(reading, column)) ? [`${quoteName(subject.name)} ${comparison}`] : []
  })
  const terms = [...[...reading.conditions.values()].map((condition) => condition.sql), ...numbers]
  return terms.length > 0 ? [`WHERE ${terms.join(' AND ')}`] : []
}

/** True if a condition limits the figures of groups, as in "regions with sales over 10,000", not single rows. */
function isHaving(reading: Reading, column: Column | undefined): boolean {
  return column === undefined || reading.measures.some((measure) => measure.name === column.name)
}

function havingOf(reading: Reading, figure: string): string[] {
  return reading.numbers.filter(({ column }) => isHaving(reading, column)).map(({ comparison }) => `${figure} ${comparison}`)
}

/** The FROM clause. A joined table contributes a single row for each key, because repeated keys would multiply the figures. */
function fromClause(reading: Reading): string {
  const used = [
    ...reading.groups.map((group) => group.column),
    ...reading.columns,
    ...reading.measures,
    ...[...reading.conditions.values()].map((condition) => condition.column),
  ]
  const joinedNames = [...new Set(used.filter((column) => column.table !== reading.table.name).map((column) => column.table))]
  const joins = joinedNames.map((tableName) => {
    const columns = unique(used.filter((column) => column.table === tableName))
    const key = quoteName(keyTo(reading, tableName))
    const picked = columns.map((column) => `any_value(${quoteName(column.name)}) AS ${quoteName(column.name)}`).join(', ')
    return ` LEFT JOIN (SELECT ${key}, ${picked} FROM ${quoteName(tableName)} GROUP BY ${key}) AS ${quoteName(tableName)} USING (${key})`
  })
  return quoteName(reading.table.name) + joins.join('')
}

function keyTo({ table, otherTables }: Reading, name: string): string {
  const joinedTable = otherTables.find((candidate) => candidate.name === name)
  return (joinedTable && joinColumn(table, joinedTable)?.name) ?? ''
}

function unique(columns: Column[]): Column[] {
  return columns.filter((column, at) => columns.findIndex((candidate) => candidate.name === column.name) === at)
}
