import type { Column } from './tables.ts'
import { quoteName } from './tables.ts'
import { stem, wordsOf } from '../words.ts'

/** Finds numeric conditions in a question: "over 500", "between 10 and 20 units", "amount above budget". */

export interface NumberCondition {
  /** Undefined if the condition is on the measure of the question. */
  column?: Column
  /** SQL after the column, such as `> 500`. */
  comparison: string
}

export interface NumberReading {
  conditions: NumberCondition[]
  rest: string
}

const operators: [RegExp, string][] = [
  [/^(over|above|more than|greater than|higher than|larger than|exceed(s|ing)?|>)$/, '>'],
  [/^(at least|no less than|minimum of|>=)$/, '>='],
  [/^(under|below|less than|lower than|smaller than|fewer than|<)$/, '<'],
  [/^(at most|up to|no more than|maximum of|<=)$/, '<='],
  [/^(exactly|equal to|equals|=)$/, '='],
]

const words =
  'over|above|more than|greater than|higher than|larger than|exceeds|exceeding|exceed|>=|<=|>|<|=|at least|no less than|minimum of|under|below|less than|lower than|smaller than|fewer than|at most|up to|no more than|maximum of|exactly|equal to|equals'
const amount = '[$€£]?(\\d[\\d,]*(?:\\.\\d+)?)\\s*(k|thousand|million|m)?(?![\\w%])'
const compared = new RegExp(`(?:\\b|(?<=\\s))(${words})\\s+(?:of )?${amount}(?=([^,;.?]*))`, 'gi')
const between = new RegExp(`\\bbetween ${amount} and ${amount}(?=([^,;.?]*))`, 'gi')
const columnByColumn = new RegExp(`(\\w+(?: \\w+)?) (?:is |are |was |were )?(${words}) (?:the |its |their )?(\\w+(?: \\w+)?)`, 'gi')

export function readNumbers(text: string, columns: readonly Column[]): NumberReading {
  const numbers = columns.filter((column) => column.kind === 'number')
  const conditions: NumberCondition[] = []
  const add = (comparison: string, before: string, after: string): string => {
    const column = firstIn(after, numbers) ?? lastIn(before, numbers)
    conditions.push({ ...(column ? { column } : {}), comparison })
    return ' § '
  }
  let rest = text.replace(between, (_, low: string, lowUnit: string, high: string, highUnit: string, after: string, at: number) =>
    add(`BETWEEN ${toNumber(low, lowUnit)} AND ${toNumber(high, highUnit)}`, text.slice(0, at), after),
  )
  const source = rest
  rest = source.replace(compared, (_, word: string, digits: string, unit: string, after: string, at: number) =>
    add(`${operatorOf(word)} ${toNumber(digits, unit)}`, source.slice(0, at), after),
  )
  rest = rest.replace(columnByColumn, (all, leftText: string, word: string, rightText: string) => {
    const [a, b] = [lastIn(leftText, numbers), firstIn(rightText, numbers)]
    if (!a || !b || a === b) return all
    conditions.push({ column: a, comparison: `${operatorOf(word)} ${quoteName(b.name)}` })
    return ' § '
  })
  return { conditions, rest }
}

function operatorOf(word: string): string {
  return operators.find(([pattern]) => pattern.test(word.toLowerCase()))?.[1] ?? '='
}

function toNumber(digits: string, unit: string | undefined): string {
  const value = Number(digits.replaceAll(',', ''))
  const factor = /^(k|thousand)$/i.test(unit ?? '') ? 1_000 : /^(m|million)$/i.test(unit ?? '') ? 1_000_000 : 1
  return String(value * factor)
}

/** The column mentioned in the first two words. */
function firstIn(text: string, columns: readonly Column[]): Column | undefined {
  return columnIn(wordsOf(text).slice(0, 2), columns)
}

function lastIn(text: string, columns: readonly Column[]): Column | undefined {
  return columnIn(wordsOf(text).slice(-3), columns)
}

function columnIn(near: string[], columns: readonly Column[]): Column | undefined {
  const stems = near.map(stem)
  return (
    columns.find((column) => wordsOf(column.name).every((word) => stems.includes(stem(word)))) ??
    columns.find((column) => wordsOf(column.name).some((word) => word.length > 3 && stems.includes(stem(word))))
  )
}
