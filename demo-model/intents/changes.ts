import type { JsonObject, JsonSchema, JsonValue, ToolMessage } from '../../src/agent/messages.ts'
import type { ToolOffer } from '../../src/agent/model.ts'
import { listed, named } from '../../src/json/schema/schema-nodes.ts'
import { describeResult } from '../answers/answer.ts'
import { fillArguments, isFreeText, typeOf } from '../arguments.ts'
import { withDigits } from '../language/phrases.ts'
import { isStopWord, readWords, setOf, stem, unusedOf, wordsOf, type Word } from '../language/words.ts'
import { asksForMore, isProposal, questionOf, readConsent, readOrder, type Order } from '../orders.ts'
import { said, scores, sure, type Call, type Part, type Reading, type Turn, type Work } from '../part.ts'
import { parseFacts, rowsOf, writeLookup } from '../sql/facts.ts'
import { findWith, isReader, isSubAgent } from '../tools.ts'

/** Orders to change something, in words. */

function writers({ tools }: Part): ToolOffer[] {
  return tools.filter((tool) => !isReader(tool) && !isSubAgent(tool) && !findWith([tool], 'file_name', 'content'))
}

/** A plain no, and a plain yes where nothing is open. */
export function readConsentTo({ text, texts, turns }: Part): Reading | undefined {
  const consents = readConsent(text)
  if (consents === undefined || texts.length > 0) return undefined
  if (consents) return { score: 5, work: () => said('I did not ask for a confirmation: nothing is open.') }
  const isRefused = isProposal(turns.at(-1)?.answer ?? '')
  return { score: isRefused ? scores.order : 5, work: () => said(isRefused ? 'All right, I have not changed anything.' : 'All right.') }
}

function lastOf({ answer }: Turn): string {
  return answer.split('\n\n').at(-1) ?? ''
}

/** The orders of a sentence. Missing words may be in the incomplete order before, or, for "it", in the question before. */
function ordersOf(text: string, turns: readonly Turn[], tools: readonly ToolOffer[]): Order[] {
  const open = turns.slice(turns.findLastIndex((turn) => !asksForMore(lastOf(turn))) + 1).map(({ question }) => question)
  const before = turns.at(-1)?.question
  const order = readOrder([...open, text].join(' '), tools) ?? correctionOf(text, turns, tools)
  const refers = readWords(text).some(({ lower }) => ['it', 'that', 'this', 'them', 'him', 'her', 'they'].includes(lower))
  const isWhole = open.length === 0 && !((!order || order.missing.length > 0) && refers && before !== undefined)
  if (isWhole) return orderEach(text, tools) ?? several(text, order, tools)
  const whole =
    open.length > 0
      ? (withTexts(text, readOrder(open.join(' '), tools)) ?? order)
      : (readOrder(`${text} ${namesIn(before!)}`, tools) ?? order)
  return whole ? [{ ...whole, choices: alike(whole) }] : []
}

/** The proposed order of the turn before with other values: "make it 15", "no, O-1003 was meant". */
function correctionOf(text: string, turns: readonly Turn[], tools: readonly ToolOffer[]): Order | undefined {
  const before = turns.at(-1)
  if (!before || !isProposal(before.answer) || text.includes('?')) return undefined
  const [order, ...further] = ordersOf(before.question, turns.slice(0, -1), tools)
  if (!order || further.length > 0) return undefined
  const words = readWords(withDigits(text)).filter(({ lower }) => !skipped.has(lower))
  const { input, stated } = fillArguments(order.tool.schema, text, { words })
  const values = Object.entries(input).filter(([name, value]) => stated.includes(name) || typeof value === 'number')
  return values.length > 0 && unusedOf(words).length <= 1
    ? { ...order, input: { ...order.input, ...Object.fromEntries(values) } }
    : undefined
}

/** The order that lacks nothing but a text, or texts, with the message that answers the question for them: "14 Mill Lane, Glasgow". */
function withTexts(text: string, order: Order | undefined): Order | undefined {
  const names = order?.missing ?? []
  if (!order || /^(?:no|stop|cancel|never|forget|leave|wait)\b/i.test(text)) return undefined
  const properties = named(order.tool.schema, 'properties') as Record<string, JsonSchema>
  const isText = (name: string) => typeOf(properties[name]) === 'string' && properties[name]?.['pattern'] === undefined
  const parts = names.length === 1 ? [text] : text.split(',').map((part) => part.trim())
  const fits = names.length === 1 ? isFreeText(names[0]!) : parts.length === names.length && names.every(isText)
  if (!fits || names.length === 0 || parts.includes('')) return undefined
  return { ...order, input: { ...order.input, ...Object.fromEntries(names.map((name, at) => [name, parts[at]!])) }, missing: [] }
}

/** "Cancel O-1 and refund O-2": orders with different verbs. */
function orderEach(text: string, tools: readonly ToolOffer[]): Order[] | undefined {
  const orders = text.split(/(?<!\s)\s+and\s+/i).map((part) => readOrder(part.replace(/,$/, ''), tools))
  const whole = orders.flatMap((order) => (order && order.missing.length === 0 ? [order] : []))
  return whole.length === orders.length && new Set(whole.map(({ tool }) => tool)).size > 1 ? whole : undefined
}

/** "Cancel the orders O-1 and O-2": one order for each identifier of the same form. */
function several(text: string, order: Order | undefined, tools: readonly ToolOffer[]): Order[] {
  const ids = order ? alike(order) : []
  if (!order || ids.length === 0) return order ? [order] : []
  const all = ids.map((identifier) => {
    const sentence = ids.filter((id) => id !== identifier).reduce((rest, id) => rest.replace(id, ''), text)
    return readOrder(sentence, tools)
  })
  return all.every((candidate) => candidate?.tool === order.tool) ? all.map((each) => each!) : [order]
}

/** The identifiers of the same form, if there are several: the identifier of the input, and the identifiers that the input leaves out. */
function alike({ input, unused }: Order): string[] {
  const formOf = (id: JsonValue) => String(id).replace(/\d/g, '0')
  const value = Object.values(input).find((identifier) =>
    unused.some((word) => word !== identifier && /\d/.test(word) && formOf(word) === formOf(identifier)),
  )
  return value === undefined ? [] : [String(value), ...unused.filter((word) => word !== value && formOf(word) === formOf(value))]
}

/** Identifiers and names of a question, in order. */
function namesIn(question: string): string {
  const words = readWords(question).slice(1)
  return words.flatMap(({ text, lower }) => (/[\p{Lu}\d]/u.test(text) && !isStopWord(lower) ? [text] : [])).join(' ')
}

const changes = new Set(
  'delete remove update change cancel refund drop insert erase edit rename pay destroy wipe reset overwrite'.split(' ').map(stem),
)
const skipped = setOf("please now just and then do not don't never")

export function readChange(part: Part): Reading | undefined {
  if (readConsent(part.text) !== undefined) return undefined
  const orders = ordersOf(part.text, part.turns, writers(part))
  const before = part.turns.at(-1)
  const isQuestion = part.text.includes('?')
  // An open order is not continued by a question about something else.
  if (orders.length > 0 && !(isQuestion && before && asksForMore(lastOf(before))))
    return { score: scores.order - 1, work: () => run(orders, part) }
  const first = readWords(part.text).find(({ lower }) => !skipped.has(lower))
  if (!first || !changes.has(first.stem) || isQuestion || part.texts.length > 0 || /\d\s*(?:%|percent|to|by|from)\s*\d/.test(part.text))
    return undefined
  return { score: scores.exact, work: () => said(askFor(first, writers(part))) }
}

/** "Refund it": the input that a tool with this verb needs, or the lack of such a tool. */
function askFor(verb: Word, tools: readonly ToolOffer[]): string {
  const tool = tools.find(({ name }) => stem(wordsOf(name.split('__').at(-1)!)[0] ?? '') === verb.stem)
  const missing = tool ? listed(tool.schema, 'required').map(String) : []
  if (!tool || missing.length === 0) return `I cannot do that: none of my tools can ${verb.lower} anything.`
  return questionOf({ tool, missing })!
}

function* run(orders: readonly Order[], part: Part): Work {
  const [first] = orders
  if (first?.isNegated) return sure(`I have not run \`${first.tool.name}\`: nothing was changed.`)
  const questions = orders.flatMap((order) => questionOf(order) ?? [])
  if (questions.length > 0) return sure(questions.join(' '))
  const tables = findWith(part.tools, 'sql')
  const inputs: JsonObject[] = []
  for (const order of orders) {
    const input = tables ? yield* verify(order, tables) : order.input
    if (typeof input === 'string') return sure(`I found no “${input}” in the tables. Did you mean something else?`)
    inputs.push(input)
  }
  const texts: string[] = []
  for (const [at, { tool }] of orders.entries())
    texts.push(describeResult(part.text, inputs[at]!, yield { tool, input: inputs[at]!, evidence: [tool.name] }))
  return sure(texts.join('\n\n'))
}

/** The input with its names as the tables write them, or a name that a column should have, but has not: "Restock Lemon Drops". */
function* verify(order: Order, tool: ToolOffer): Generator<Call, JsonObject | string, ToolMessage> {
  const input = { ...order.input }
  for (const [name, value] of Object.entries(input)) {
    const tables = parseFacts(tool).tables.map((table) => ({ ...table, columns: table.columns.filter((column) => column.name === name) }))
    const columns = tables.flatMap((table) => table.columns).filter(({ kind }) => kind === 'text')
    if (typeof value !== 'string' || columns.length === 0 || columns.some(({ values }) => values.includes(value))) continue
    const sql = writeLookup(
      tables,
      readWords(value).map(({ text }) => text),
    )
    const rows = sql === undefined ? undefined : rowsOf(yield { tool, input: { sql }, evidence: [value] })
    const stored = rows?.rows.map((row) => String(row[2])).find((name) => name.toLowerCase() === value.toLowerCase())
    if (rows && stored === undefined) return value
    input[name] = stored ?? value
  }
  return input
}
