import { stem, wordsOf } from '../language/words.ts'
import type { Aggregate, Group, Query } from './query.ts'
import { hasRevenue, isAdditive, joinColumn, mainMeasure, nameColumn, nameIsRow, quoteName, stemsOfName, type Column } from './tables.ts'

/** Rows of a list without a limit of its own. The answer says that there may be more. */
export const listLimit = 50

/** Creates a SELECT in DuckDB's dialect, with quoted names and values. */
export function writeSelect(query: Query): string {
  return (isList(query) ? writeList(query) : writeFigures(query)).filter(Boolean).join(' ')
}

/** True if the question asks for rows: no aggregate, no grouping, and no additive measure by itself. */
export function isList(query: Query): boolean {
  const { table, measures, columns } = query
  if (query.aggregate !== undefined || query.groups.length > 0 || query.share) return false
  if (query.order !== undefined || query.limit !== undefined) return isAboutRows(query)
  if (query.countsRows && query.numbers.length > 0) return true
  if (measures.length === 0) return query.rows || columns.length > 0 || !hasRevenue(table)
  if (measures.every((column) => !isAdditive(column))) return true
  return hasRevenue(table) ? columns.length > 0 && query.rows : columns.length > 0 || query.rows || query.conditions.size > 0
}

/** True if a ranking asks for rows ("the largest sale", "top 5 customers"), false for a figure ("the highest amount"). */
function isAboutRows({ table, hits, measures, limit, columns, byTime }: Query): boolean {
  const isNamed = hits.some((hit) => stemsOfName(table.name).join(' ') === stem(hit))
  const hasNames = table.columns.some((column) => column.kind === 'text' && nameIsRow(table, column))
  const isPrice = measures.some((column) => !isAdditive(column))
  return byTime || limit !== undefined || isNamed || columns.length > 0 || (isPrice && hasNames)
}

function writeList(query: Query): string[] {
  const { table, order, limit, measures, columns } = query
  const [measure] = measures
  const isDistinct = columns.length > 0 && measures.length === 0 && !order && !columns.some((column) => nameIsRow(table, column))
  const repeats = measure && !order && hasRevenue(table) && columns.length > 0
  const date = table.columns.find(({ kind }) => kind === 'date')
  const orderColumn = order && (query.byTime ? date : (measure ?? mainMeasure(table) ?? date))
  const sorted = orderColumn ? `ORDER BY ${quoteName(orderColumn.name)} ${order} NULLS LAST` : ''
  return [
    `SELECT ${isDistinct || repeats ? 'DISTINCT ' : ''}${selectedOf(query)}`,
    `FROM ${fromClause(query)}`,
    whereClause(query),
    // Rows of the same rank are all shown.
    orderColumn && !limit ? `QUALIFY rank() OVER (${sorted}) = 1` : '',
    sorted || (isDistinct ? 'ORDER BY 1' : ''),
    `LIMIT ${limit ?? listLimit}`,
  ]
}

function selectedOf({ table, order, measures, columns, conditions }: Query): string {
  if (columns.length === 0 && (measures.length === 0 || (order && hasRevenue(table)))) return '*'
  const needsName = measures.length > 0 || columns.some((column) => nameIsRow(table, column) || column.kind !== 'text')
  const name = needsName && !hasRevenue(table) ? nameColumn(table) : undefined
  const conditioned = measures.length > 0 ? [...conditions.values()].map(({ column }) => column) : []
  const names = [...(name ? [name] : []), ...columns, ...conditioned, ...measures].map((column) => quoteName(column.name))
  return [...new Set(names)].join(', ')
}

function writeFigures(query: Query): string[] {
  const figures = figuresOf(query)
  const { sql: figure, name } = figures[0]!
  const groups = query.groups.map(toGroup)
  const isGrouped = groups.length > 0
  const share = query.share && isGrouped ? [`round(100 * ${figure} / sum(${figure}) OVER (), 1) AS "share_percent"`] : []
  const having = isGrouped ? query.numbers.filter((number) => isHaving(query, number.column)) : []
  return [
    `SELECT ${[...groups.map(({ sql, alias }) => sql + alias), ...figures.map((figure) => `${figure.sql} AS ${quoteName(figure.name)}`), ...share].join(', ')}`,
    `FROM ${fromClause(query)}`,
    whereClause(query, isGrouped),
    isGrouped ? `GROUP BY ${groups.map((_, at) => at + 1).join(', ')}` : '',
    having.length > 0 ? `HAVING ${having.map(({ comparison }) => `${figure} ${comparison}`).join(' AND ')}` : '',
    ...(isGrouped ? sortGroups(query, groups, { figure, name: quoteName(name) }) : []),
  ]
}

/** A single group is sorted by its figure, several groups and times by themselves. "The best product per region" is the first of each region. */
function sortGroups(
  { groups, order, limit }: Query,
  written: readonly { sql: string }[],
  { figure, name }: { figure: string; name: string },
) {
  const eachAt = groups.findIndex(({ isEach }) => isEach)
  const limited = limit ? `LIMIT ${limit}` : ''
  if (order && groups.length === 2 && eachAt >= 0 && !groups.every(({ isEach }) => isEach))
    return [`QUALIFY row_number() OVER (PARTITION BY ${written[eachAt]!.sql} ORDER BY ${figure} ${order}) <= ${limit ?? 1}`, 'ORDER BY ALL']
  if (!order && (groups.length > 1 || groups.some(({ grain }) => grain && grain !== 'weekday'))) return ['ORDER BY ALL', limited]
  return [`ORDER BY ${name} ${order ?? 'DESC'}`, limited]
}

function figuresOf(query: Query): { sql: string; name: string }[] {
  const { table, counted, measures } = query
  if (counted && measures.length === 0) return [{ sql: `count(DISTINCT ${quoteName(counted.name)})`, name: `number_of_${counted.name}s` }]
  const main = mainMeasure(table)
  const usesMain = !query.countsRows && query.aggregate !== 'count' && main && (hasRevenue(table) || (query.aggregate && isAdditive(main)))
  const columns = measures.length > 0 ? measures : usesMain ? [main] : []
  if (columns.length === 0) return [{ sql: 'count(*)', name: `number_of_${table.name}` }]
  return columns.map((column) => toFigure(column, aggregateOf(query, column)))
}

function aggregateOf({ aggregate, groups, order, share }: Query, column: Column): Aggregate {
  if (aggregate && aggregate !== 'count') return aggregate
  if (order && !share && (groups.length === 0 || !isAdditive(column))) return order === 'DESC' ? 'max' : 'min'
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

function toFigure(column: Column, aggregate: Aggregate): { sql: string; name: string } {
  const call = `${aggregate}(${quoteName(column.name)})`
  const sql = (aggregate === 'sum' && !column.isWhole) || aggregate === 'avg' ? `round(${call}, 2)` : call
  const name = wordsOf(column.name)[0] === aliases[aggregate] ? column.name : `${aliases[aggregate]}_${column.name}`
  return { sql, name }
}

const grainSql: Record<NonNullable<Group['grain']>, (name: string) => string> = {
  day: (name) => `CAST(${name} AS DATE)`,
  week: (name) => `strftime(${name}, '%G-W%V')`,
  month: (name) => `strftime(${name}, '%Y-%m')`,
  weekday: (name) => `dayname(${name})`,
  quarter: (name) => `strftime(${name}, '%Y') || '-Q' || quarter(${name})`,
  year: (name) => `strftime(${name}, '%Y')`,
}

function toGroup({ column, grain }: Group): { sql: string; alias: string } {
  const name = quoteName(column.name)
  return grain ? { sql: grainSql[grain](name), alias: ` AS "${grain}"` } : { sql: name, alias: '' }
}

function whereClause(query: Query, isGrouped = false): string {
  const numbers = query.numbers.flatMap(({ column, comparison }) => {
    const subject = column ?? query.measures[0] ?? mainMeasure(query.table)
    return subject && !(isGrouped && isHaving(query, column)) ? [`${quoteName(subject.name)} ${comparison}`] : []
  })
  const terms = [...[...query.conditions.values()].map(({ sql }) => sql), ...numbers]
  return terms.length > 0 ? `WHERE ${terms.join(' AND ')}` : ''
}

/** True if a condition limits the figures of groups, as in "regions with sales over 10,000", not single rows. */
function isHaving(query: Query, column: Column | undefined): boolean {
  return column === undefined || query.measures.some(({ name }) => name === column.name)
}

/** The FROM clause. A joined table contributes a single row for each key, because repeated keys would multiply the figures. */
function fromClause({ table, tables, groups, columns, measures, conditions }: Query): string {
  const used = [...groups, ...conditions.values()].map(({ column }) => column).concat(columns, measures)
  const joinedColumns = Map.groupBy(
    used.filter((column) => column.table !== table.name),
    (column) => column.table,
  )
  const joins = [...joinedColumns].map(([name, columns]) => {
    const joined = tables.find((candidate) => candidate.name === name)
    const key = quoteName((joined && joinColumn(table, joined)?.name) ?? '')
    const picked = [...new Set(columns.map((column) => quoteName(column.name)))]
      .map((column) => `any_value(${column}) AS ${column}`)
      .join(', ')
    return ` LEFT JOIN (SELECT ${key}, ${picked} FROM ${quoteName(name)} GROUP BY ${key}) AS ${quoteName(name)} USING (${key})`
  })
  return quoteName(table.name) + joins.join('')
}
