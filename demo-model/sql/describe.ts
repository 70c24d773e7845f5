import type { JsonValue } from '../../src/agent/messages.ts'
import { formatNumber } from '../answers/numbers.ts'
import { cell, describeRows, titleWords, type Rows } from '../answers/rows.ts'
import { sure, type Answer } from '../work.ts'
import type { Condition, Query } from './query.ts'
import { isList, listLimit } from './select.ts'

/** Describes the rows of a query that a question became. A sentence claims nothing about rows that a limit cut off. */
export function describeFigures(query: Query, rows: Rows): Answer {
  const single = rows.rows.length === 1 && rows.columns.length === 1 ? rows.rows[0]![0] : undefined
  const scope = scopeOf(query)
  const isCut = rows.truncated === true || (isList(query) && query.limit === undefined && rows.rows.length >= listLimit)
  const lead = rows.rows.length > 1 ? leadOf(query, { ...rows, truncated: isCut }, scope) : ''
  // "Which month was the worst?" asks for one month, not for a list.
  const isOne = query.order !== undefined && !query.limit && query.groups.length === 1 && !query.isListed && lead !== ''
  const text = isOne ? lead : describeRows({ ...rows, truncated: isCut }, scope, lead)
  return sure(text, single === undefined || single === null ? undefined : String(single))
}

/** The conditions in words: ` for region North, in March 2025`. */
export function scopeOf({ conditions, numbers, measures }: Query): string {
  const limits = numbers.map(({ column, text }) => `${titleWords((column ?? measures[0])?.name ?? 'amount')} ${text}`)
  const isTime = ({ column, text }: Condition) => column.kind === 'date' && !/^with(out)? /.test(text)
  const all = [...conditions.values()]
  const rows = [...all.filter((condition) => !isTime(condition)).map(({ text }) => text), ...limits]
  const times = all.filter(isTime).map(({ text }) => text)
  return [rows.length > 0 ? ` for ${rows.join(', ')}` : '', times.length > 0 ? ` ${times.join(', ')}` : ''].filter(Boolean).join(',')
}

const figureName = /^(total|average|highest|lowest|median|number_of)_?/

/** The sentence before a table of figures. */
function leadOf(query: Query, { columns, rows, truncated }: Rows, scope: string): string {
  if (isList(query)) return truncated ? '' : `${rows.length} ${query.table.name}${scope}:`
  const at = columns.findIndex((column) => figureName.test(column))
  if (at < 1 || rows.some((row) => typeof row[at] !== 'number')) return ''
  const figures: Figures = { columns, rows, at, name: titleWords(columns[at]!) }
  const share = query.share ? describeShare(query, figures) : ''
  if (share !== '') return share
  return query.compares ? describeChange(query, figures) : describeExtremes(query, figures, { truncated: truncated === true, scope })
}

interface Figures {
  columns: string[]
  rows: JsonValue[][]
  /** The column of the figures; those before are groups. */
  at: number
  name: string
}

function nameOf({ columns, at }: Figures, row: JsonValue[]): string {
  const groups = row.slice(0, at)
  return groups.map((value, index) => cell(value, columns[index]!)).join(', ')
}

function describeShare({ hits }: Query, figures: Figures): string {
  const asked = figures.rows.filter((row) => hits.includes(String(row[0])))
  const parts = (asked.length < figures.rows.length ? asked : []).map((row) => {
    return `${nameOf(figures, row)} has **${formatNumber(Number(row.at(-1)))} %** of the ${figures.name}: ${formatNumber(Number(row[figures.at]))}`
  })
  return parts.length > 0 ? `${parts.join('; ')}.` : ''
}

/** "From 2025-01 (30,000) to 2025-12 (36,000): 6,000 more (+20 %)." The first and the last time, or the first two values. */
function describeChange({ compares, groups }: Query, figures: Figures): string {
  const { rows, at, name } = figures
  const isTime = groups.some(({ grain }) => grain)
  if (at > 1 || (!isTime && rows.length !== 2)) return ''
  const [first, last] = isTime ? [rows[0]!, rows.at(-1)!] : [rows[1]!, rows[0]!]
  const [from, to] = [Number(first[at]), Number(last[at])]
  const percent = from === 0 ? '' : ` (${to < from ? '−' : '+'}${formatNumber(Math.abs(Math.round((to / from - 1) * 1000) / 10))} %)`
  const amount = `**${formatNumber(Math.abs(Math.round((to - from) * 100) / 100))}** ${to < from ? 'less' : 'more'}${percent}`
  if (compares === 'difference' && !isTime) return `${nameOf(figures, last)} has ${amount} than ${nameOf(figures, first)} (${name}).`
  return `The ${name} went from ${formatNumber(from)} (${nameOf(figures, first)}) to ${formatNumber(to)} (${nameOf(figures, last)}): ${amount}.`
}

/** The first of a ranking, and the other end and the sum only where no row is missing. */
function describeExtremes(
  { order, groups, limit, numbers }: Query,
  figures: Figures,
  { truncated, scope }: { truncated: boolean; scope: string },
) {
  const { rows, at, columns } = figures
  if ((truncated && !order) || (order && groups.length > 1 && groups.some(({ isEach }) => isEach))) return ''
  const plain = figures.name.replace(/^(highest|lowest) /, '')
  const sorted = rows.toSorted((a, b) => (Number(b[at]) - Number(a[at])) * (order === 'ASC' ? -1 : 1))
  const [front, back] = [sorted[0]!, sorted.at(-1)!]
  const [near, far] = order === 'ASC' ? ['lowest', 'highest'] : ['highest', 'lowest']
  const ties = rows.filter((row) => row[at] === front[at]).map((row) => nameOf(figures, row))
  const first = `**${ties.slice(0, 3).join('** and **')}** ${ties.length > 1 ? 'have' : 'has'} the ${near} ${plain}${scope} with **${formatNumber(Number(front[at]))}**`
  if (truncated || (limit !== undefined && rows.length >= limit)) return `${first}.`
  const total = Math.round(rows.reduce((all, row) => all + Number(row[at]), 0) * 100) / 100
  const sum = /^(total|number_of)_/.test(columns[at]!) && numbers.length === 0 ? ` Together: ${formatNumber(total)}.` : ''
  return `${first}; ${nameOf(figures, back)} the ${far} with ${formatNumber(Number(back[at]))}.${sum}`
}
