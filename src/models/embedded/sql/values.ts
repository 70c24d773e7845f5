import { isStopWord, wordsOf } from '../words.ts'
import type { Mention } from './mentions.ts'
import type { Reading } from './reading.ts'
import { nameColumn, quoteName, quoteText } from './tables.ts'

export function readValues(reading: Reading, words: readonly string[], mentions: readonly Mention[]): void {
  const columns = new Set(mentions.flatMap((mention) => (mention.kind === 'value' && mention.column ? [mention.column] : [])))
  for (const column of columns) {
    const valueMentions = mentions.filter((mention) => mention.kind === 'value' && mention.column === column)
    const values = [...new Set(valueMentions.flatMap((mention) => mention.values))]
    const before = words.slice(Math.max(0, valueMentions[0]!.at - 4), valueMentions[0]!.at)
    const isExcluded = before.some((word) => /^(except|excluding|without|not|outside)$/.test(word))
    const name = quoteName(column.name)
    const list = values.map(quoteText).join(', ')
    const sql = values.length === 1 ? `${name} ${isExcluded ? '<>' : '='} ${list}` : `${name} ${isExcluded ? 'NOT IN' : 'IN'} (${list})`
    if (reading.share && values.length > 0 && !isExcluded) reading.groups.push({ column })
    else reading.conditions.set(column.name, { sql, column, single: values.length === 1 && !isExcluded })
    if (values.length > 1 && !isExcluded && !words.includes('combined') && !words.includes('together')) reading.groups.push({ column })
  }
}

/** Finds values missing from the description: `product "X"`, `city Leeds`. */
export function readQuoted(reading: Reading, text: string): void {
  for (const column of reading.table.columns) {
    if (column.kind !== 'text' || reading.conditions.has(column.name)) continue
    const spoken = wordsOf(column.name).join('[ _]')
    const pattern = new RegExp(
      `\\b${spoken}s?\\s*(?:is|=|called|named|of)?\\s*(?:"([^"]+)"|“([^”]+)”|'([^']+)'|(\\p{Lu}[\\p{L}\\d&-]*(?: \\p{Lu}[\\p{L}\\d&-]*)*))`,
      'u',
    )
    const match = pattern.exec(text)
    const value = match?.[1] ?? match?.[2] ?? match?.[3] ?? match?.[4]
    if (!value || isStopWord(value.toLowerCase())) continue
    reading.conditions.set(column.name, {
      sql: `lower(${quoteName(column.name)}) = ${quoteText(value.toLowerCase())}`,
      column,
      single: true,
    })
    reading.groups = reading.groups.filter((group) => group.column !== column)
    reading.columns = reading.columns.filter((otherColumn) => otherColumn !== column)
  }
  if (reading.conditions.size === 0) readName(reading, text)
}

/** Treats quoted text or two capitalised words ("Juniper Law") as a name, if the table has a column of unlisted names. */
function readName(reading: Reading, text: string): void {
  const column =
    reading.table.columns.find((candidate) => candidate.kind === 'text' && candidate.name.toLowerCase() === 'name') ??
    nameColumn(reading.table)
  if (!column || column.values.length > 0) return
  const quoted = /"([^"]+)"|“([^”]+)”/.exec(text)
  const value = quoted?.[1] ?? quoted?.[2] ?? /(?<=\S )(\p{Lu}[\p{L}\d]+(?: (?:&|and|of)? ?\p{Lu}[\p{L}\d]+)+)/u.exec(text)?.[1]
  if (!value) return
  reading.conditions.set(column.name, { sql: `lower(${quoteName(column.name)}) = ${quoteText(value.toLowerCase())}`, column, single: true })
}
