import type { JsonObject, ToolMessage } from '../../src/agent/messages.ts'
import type { ToolOffer } from '../../src/agent/model.ts'
import { readShownTable } from '../answers/rows.ts'
import { readWords, setOf } from '../language/words.ts'
import { reported, said, scores, type Call, type Part, type Reading, type Work } from '../part.ts'
import { answerQuery, correct, readChain, weighQuery } from '../sql/answer-query.ts'
import { parseFacts, rowsOf } from '../sql/facts.ts'
import { asksStock, type DataFacts } from '../sql/read-query.ts'
import { findWith, weigh, type Profile } from '../tools.ts'

const chartNouns = setOf('chart charts plot plots plotted graph graphs diagram diagrams visualise visualize visualization pie')
const chartWords = new Set([...chartNouns, 'bar', 'bars', 'line', 'draw', 'drawn'])
const fillers = setOf('a an as it please show make create of the that this with me in for give can you could i want')

/** Questions about figures and rows in tables, and charts of them. Each tool with tables is a reading. */
export function readTables(part: Part): Reading[] {
  if (isReport(part.text)) return []
  const [, noun] = theThing.exec(part.text) ?? []
  const text = noun === undefined ? part.text : withShownKey(part.text, noun, part.turns.at(-1)?.answer ?? '')
  return part.profiles.flatMap((profile) => {
    if (!profile.parameters.includes('sql')) return []
    const isTable = parseFacts(profile.tool).tables.some(({ name }) => name === `${noun?.toLowerCase()}s`)
    // "Who is the customer?" without a customer before does not ask for all customers.
    if (text === part.text && isTable) return { score: scores.given, work: () => said(`Which ${noun} do you mean?`) }
    return readTablesOf(profile, { ...part, text }) ?? []
  })
}

const asksRule = /^(?:and )?(?:can|may|must|should) (?:i|it|one|he|she|they|this|that|a|an|the)\b/i
const theThing = /^(?:and )?(?:who|what|which|where) (?:is|was) the (\w+)\W*$/i

/** "Who is the customer?" behind one row with a "Customer id": the question with the value. */
function withShownKey(text: string, noun: string, answer: string): string {
  const table = readShownTable(answer)
  const key = `${noun.toLowerCase()} id`
  const at = table?.rows.length === 1 ? table.titles.findIndex((title) => title.toLowerCase() === key) : -1
  const value = table?.rows[0]?.[at]
  return value ? `${text.replace(/\W*$/, '')} ${value}` : text
}

/** "A customer emailed us", "Mrs Strand wants O-1 cancelled": what somebody did or wants is no question about rows. */
function isReport(text: string): boolean {
  return !text.includes('?') && /^(?:an?|mrs?|ms|he|she|they|someone|somebody) /i.test(text)
}

function readTablesOf(profile: Profile, part: Part): Reading | undefined {
  const facts = parseFacts(profile.tool)
  const plain = withoutChart(part.text)
  const isRead = part.isFollowUp || readChain({ questions: [plain], facts }) !== undefined
  const words = readWords(plain).map((word) => word.text)
  const text = isRead ? plain : correct(plain, words, facts, false).question
  const isDrawn = plain !== part.text
  const earlier = part.isFollowUp || (isDrawn && drawsMore(text, part, facts)) ? part.earlier.map(withoutChart) : []
  const questions = [...earlier, ...(text === '' ? [] : [text])]
  const query = readChain({ questions, facts })
  if (!query) return undefined
  const isFigure = query.aggregate !== undefined || query.groups.length > 0 || query.order !== undefined || query.share
  // Names and numbers that no table description has are likely to be values.
  const names = query.unused.filter((word) => /^\p{Lu}|\d/u.test(word)).length * 2
  // "How much is express shipping?" is no question about the sum of orders.
  const isPrice = /^how much (?:is|are|does) /i.test(part.text) && query.measures.length === 0 && query.aggregate === 'sum'
  // "May it be used with a coupon?" asks for a rule, not for a figure.
  const isRule = asksRule.test(part.text)
  const isForeign = part.isFollowUp && query.unused.length > 0 && !readChain({ questions: [text], facts })
  const isAddressed = weigh(profile, part.text, part.profiles).score >= 8
  const score =
    names +
    weighQuery(query) -
    (isPrice ? 6 : 0) -
    (isForeign || isRule ? 10 : 0) +
    (asksStock(readWords(text)) ? 4 : 0) +
    (isFigure ? 1.5 : 0) +
    (part.isFollowUp ? 3 : 0) +
    (isAddressed ? 8 : 0)
  if (score <= 0) return undefined
  if (/^(?:and )?why\b/i.test(part.text)) return { score, work: () => said('I cannot tell why: the tables have no reasons.', false) }
  const before = readChain({ questions: earlier, facts })
  if (/^which (?:one|of them) (?:was|is|were|did)/i.test(part.text) && query.groups.length === 0 && !before?.rows)
    return { score, work: () => said('Which ones do you mean? Please name them.', false) }
  if (part.isFollowUp && before === undefined && /^(?:and )?(?:is|are|was|were|has|have) (?:it|they|that|this|he|she)\b/i.test(part.text))
    return { score, work: () => said('Which one do you mean? Please name it.', false) }
  const clock = part.profiles.find(({ parameters, required }) => parameters.includes('timezone') && required.length === 0)?.tool
  const draw = isDrawn ? (_: unknown, result: ToolMessage) => drawChart(part, result) : undefined
  // A follow-up of a question about tables is not looked up in documents.
  const isBound = before !== undefined && before.unused.length === 0 && weighQuery(before) > 2.5
  return { score, work: () => bound(isBound, answerQuery({ tool: profile.tool, questions, facts, clock }, draw)) }
}

/** "Draw a chart by product" has no figure of its own, and draws the figures of the question before. */
function drawsMore(text: string, { earlier }: Part, facts: DataFacts): boolean {
  const before = readChain({ questions: earlier.map(withoutChart), facts })
  const single = readChain({ questions: [text], facts })
  const next = before && readChain({ questions: [...earlier.map(withoutChart), text], facts })
  return (
    next !== undefined && before!.measures.length > 0 && single?.measures.length === 0 && next.groups.length > 0 && next.unused.length === 0
  )
}

function* bound(isBound: boolean, work: Work): Work {
  const answer = yield* work
  return answer && { ...answer, isSure: answer.isSure || isBound }
}

/** The question without the words that ask for a chart; the same text if there are none. */
function withoutChart(text: string): string {
  const words = readWords(text)
  const first = words.find(({ lower }) => lower !== 'please' && lower !== 'now')?.lower
  if (first !== 'draw' && !words.some(({ lower }) => chartNouns.has(lower))) return text
  const rest = words.filter(({ lower }) => !chartWords.has(lower))
  const start = rest.findIndex(({ lower }) => !fillers.has(lower))
  const remaining = start < 0 ? [] : rest.slice(start)
  return remaining.map((word) => word.text).join(' ')
}

function drawChart(part: Part, figures: ToolMessage): Work {
  const choice = chooseChart(part.text, part.tools, figures)
  return choice ? reported(choice, part.text) : findWith(part.tools, 'spec', 'data') ? none() : said('I have no tool that draws charts.')
}

// oxlint-disable-next-line require-yield -- Without figures the rows are described in words.
function* none(): Work {
  return undefined
}

const asksChart = /\b(draw|charts?|plots?|plotted|graphs?|diagrams?|visuali[sz]e|pie)\b/i
const overTime = /date|month|year|day|week|quarter|time/i

/** The call that draws a table of figures, if the request asks for a chart and there is a tool for Vega-Lite. */
export function chooseChart(request: string, tools: readonly ToolOffer[], figures: ToolMessage): Call | undefined {
  const tool = findWith(tools, 'spec', 'data')
  const word = asksChart.exec(request)?.[0]
  const spec = tool?.description.includes('Vega-Lite') && word !== undefined ? toSpec(request, figures) : undefined
  return tool && spec && { tool, input: { spec, data: figures.name }, evidence: [word!] }
}

/** Creates a Vega-Lite specification; undefined if the table has fewer than two rows or no figures. */
function toSpec(request: string, figures: ToolMessage): JsonObject | undefined {
  const { columns, rows } = rowsOf(figures) ?? { columns: [], rows: [] }
  const isFigure = (at: number) => rows.every((row) => typeof row[at] === 'number' || row[at] === null)
  const measured = columns.findIndex((_, at) => isFigure(at) && at > 0)
  const [category, series] = columns.filter((_, at) => at !== measured && (at === 0 || !isFigure(at)))
  if (rows.length < 2 || measured === -1 || category === undefined) return undefined
  const y = columns[measured]!
  const title = `${toWords(y)} by ${toWords(category).toLowerCase()}`
  const figure = { field: y, type: 'quantitative', title: toWords(y) }
  const group = { field: category, type: 'nominal', title: toWords(category), sort: null }
  if (/\bpie\b/i.test(request)) return { title, mark: 'arc', encoding: { theta: figure, color: group } }
  const isLine = /\blines?\b/i.test(request) || (overTime.test(category) && !/\bbars?\b/i.test(request))
  const color = series === undefined ? undefined : { field: series, type: 'nominal', title: toWords(series) }
  return {
    title,
    mark: isLine ? { type: 'line', point: true } : 'bar',
    encoding: { x: { ...group, type: 'ordinal' }, y: figure, ...(color ? { color } : {}) },
  }
}

function toWords(column: string): string {
  const words = column.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
