import type { ToolMessage } from '../../src/agent/messages.ts'
import type { ToolOffer } from '../../src/agent/model.ts'
import { describeResult } from '../answers/answer.ts'
import type { Rows } from '../answers/rows.ts'
import { closest, sameConsonants } from '../language/phrases.ts'
import { isStopWord, readWords, wordsOf } from '../language/words.ts'
import { sure, unsure, type Answer, type Call, type Work } from '../part.ts'
import { describeFigures, rangeOf, rowsOf, scopeOf, withValues, writeLookup } from './facts.ts'
import { mergeQueries, type Query } from './query.ts'
import { readQuery, type DataFacts } from './read-query.ts'
import { writeSelect } from './select.ts'
import type { Column } from './tables.ts'
import { functionWords } from './vocabulary.ts'

/** A question for a query tool, before the first query. */
interface QuestionOfTables {
  tool: ToolOffer
  /** The questions that a follow-up continues, oldest first, and the question itself. */
  questions: readonly string[]
  facts: DataFacts
  /** The tool for the date, for "last month". */
  clock?: ToolOffer | undefined
}

/** The query of consecutive questions; undefined if no question is about the tables. */
export function readChain({ questions, facts }: { questions: readonly string[]; facts: DataFacts }): Query | undefined {
  let query: Query | undefined
  for (const question of questions) {
    const next = readQuery(question, facts, query?.table)
    query = query && next ? mergeQueries(query, next) : (next ?? query)
  }
  return query
}

/** Looks up unknown words, then asks the database, or asks the person what was meant. `onRows` may make something else of the rows. */
export function* answerQuery(question: QuestionOfTables, onRows?: (rows: Rows, result: ToolMessage) => Work): Work {
  const completed = yield* completeFacts(question)
  if (!completed) return undefined
  const { query, facts, notes } = completed
  if (query.fault !== undefined) return sure(query.fault)
  if (query.unused.length > 0) return ask(query, facts)
  const input = { sql: writeSelect(query) }
  const result = yield { tool: question.tool, input, evidence: query.hits }
  const rows = rowsOf(result)
  if (!rows) return unsure(describeResult('', input, result))
  const [only = [0]] = rows.rows
  const isNothing = rows.rows.length <= 1 && only.length === 1 && (only[0] === null || only[0] === 0)
  const answer = isNothing
    ? yield* answerNothing(question.tool, query)
    : ((onRows && (yield* onRows(rows, result))) ?? describeFigures(query, rows))
  return { ...answer, text: [...new Set([...notes, ...query.notes]), answer.text].join('\n\n') }
}

/** Answers that no row matches, with the first and last date of the data. */
function* answerNothing(tool: ToolOffer, query: Query): Generator<Call, Answer, ToolMessage> {
  const condition = [...query.conditions.values()].find(({ column }) => column.kind === 'date')
  const range = condition && (yield* rangeOf(tool, condition.column))
  const span = range ? ` The data goes from ${range[0]} to ${range[1]}.` : ''
  return sure(`There are no ${query.table.name.replaceAll('_', ' ')}${scopeOf(query)}: **0**.${span}`, '0')
}

interface Completed {
  query: Query
  facts: DataFacts
  notes: string[]
}

/** Asks for values and dates that the questions need, and corrects mistyped words. */
function* completeFacts({ tool, clock, ...question }: QuestionOfTables): Generator<Call, Completed | undefined, ToolMessage> {
  let { facts, questions } = question
  let query = readChain({ questions, facts })
  const notes: string[] = []
  const sql = query && writeLookup(facts.tables, query.unused)
  const lookup = sql === undefined ? undefined : rowsOf(yield { tool, input: { sql }, evidence: query!.hits })
  if (lookup) facts = { ...facts, tables: withValues(facts.tables, lookup.rows) }
  query = readChain({ questions, facts })
  if (query && query.unused.length > 0) {
    const corrected = questions.map((text) => correct(text, query!.unused, facts))
    questions = corrected.map(({ question: text }) => text)
    notes.push(...corrected.at(-1)!.notes)
    query = readChain({ questions, facts })
  }
  if (query?.needs === 'today' && clock) {
    const { text } = yield { tool: clock, input: {}, evidence: query.hits }
    facts = { ...facts, today: /\d{4}-\d{2}-\d{2}/.exec(text)?.[0] }
    query = readChain({ questions, facts })
  }
  if (query?.needs) {
    const isDate = ({ kind }: Column) => kind === 'date'
    const column = [...query.conditions.values()].map((condition) => condition.column).find(isDate) ?? query.table.columns.find(isDate)
    facts = { ...facts, latest: (column && (yield* rangeOf(tool, column)))?.[1] ?? '2000-01-01' }
    query = readChain({ questions, facts })
  }
  return query && { query, facts, notes }
}

/** Replaces mistyped words by the only word that they can stand for. Before the values are looked up, no word stands for a value. */
export function correct(
  question: string,
  unused: readonly string[],
  { tables }: DataFacts,
  knowsValues = true,
): { question: string; notes: string[] } {
  const columns = tables.flatMap((table) => table.columns)
  const names = [...tables, ...columns].map(({ name }) => name).concat(knowsValues ? columns.flatMap(({ values }) => values) : [])
  const vocabulary = new Set([...functionWords, ...names.flatMap(wordsOf)])
  let corrected = question
  const readings: string[] = []
  for (const word of unused.filter((unusedWord) => question.includes(unusedWord))) {
    const near = closest(word.toLowerCase(), vocabulary)
    const candidates =
      near.length > 0 || isStopWord(word.toLowerCase()) ? near : sameConsonants(word.toLowerCase(), [...functionWords, 'from'])
    if (candidates.length !== 1) continue
    corrected = corrected.replace(word, candidates[0]!)
    readings.push(`“${word}” as “${candidates[0]!}”`)
  }
  return { question: corrected, notes: readings.length > 0 ? [`I read ${readings.join(', ')}.`] : [] }
}

/** Asks back: with the values that a word may stand for, or with what can be asked. */
function ask({ unused, table }: Query, { tables }: DataFacts): Answer {
  const [word = ''] = unused
  const lower = word.toLowerCase()
  const columns = tables.flatMap(({ columns: tableColumns }) => tableColumns)
  const exact = columns.find(({ values }) => values.some((value) => value.toLowerCase() === lower))
  const name = exact?.name.replaceAll('_', ' ')
  if (exact) return unsure(`“${word}” is a ${name} of ${exact.table}. I cannot use it for ${table.name}, which has no such column.`)
  const near = columns
    .flatMap(({ values }) => values)
    .filter((value) => closest(lower, wordsOf(value)).length > 0 || wordsOf(value).includes(lower))
  const candidates = [...new Set(near)].slice(0, 3).map((value) => `“${value}”`)
  if (candidates.length > 0) return unsure(`Did you mean ${candidates.join(' or ')} by “${word}”?`)
  const words = unused.map((text) => `“${text}”`).join(', ')
  const names = table.columns.map((column) => column.name.replaceAll('_', ' ')).join(', ')
  return unsure(`I do not understand ${words} in a question about ${table.name}. What I can ask for: ${names}.`)
}

/** How well the tables explain a question: the hits, less the words without a meaning. */
export function weighQuery(query: Query): number {
  const content = query.hits.filter((word) => !isStopWord(word) && readWords(word).length > 0)
  return new Set(content).size * 2.5 - query.unused.length
}
