import { readNamedCall } from '../named-call.ts'
import { scores, type Part, type Reading } from '../part.ts'
import { answerQuery, readChain } from '../sql/answer-query.ts'
import { parseFacts } from '../sql/facts.ts'
import { findWith } from '../tools.ts'
import { reported, said } from '../work.ts'
import { toTable, type Rows } from '../answers/rows.ts'
import { readShownTable } from '../answers/shown-table.ts'
import { readSaveOrder } from '../save-order.ts'

/** Orders that name a tool, and orders to write a file. */

export function readNames(part: Part): Reading | undefined {
  const [, asked] = /^what (?:does|is|do) (?:the (?:tool )?)?`?(\w+)`?(?: do| for)?\W*$/i.exec(part.text) ?? []
  const about = part.tools.find(({ name }) => name === asked && name.includes('_'))
  if (about) return { score: scores.order, work: () => said(`\`${about.name}\`: ${about.description.split('\n', 1)[0]}`) }
  const call = readNamedCall(part.text, part.tools)
  if (!call) return undefined
  // "Do not use refund" names the tool, but forbids the call.
  const isNegated = /\b(?:not|never|don't|don’t|no|without|avoid|stop)\b|\?(?!["”'])/i.test(part.text)
  const { name, effect } = call.tool
  if (effect === 'write' && isNegated)
    return { score: scores.order, work: () => said(`I have not run \`${name}\`. To run it, write: Use ${name} with ...`) }
  return { score: scores.order, work: () => reported(call, part.text) }
}

/** What stands for the answer before. */
const pronoun = /^(?:that|this|it|them|these|those|the (?:table|list|result|answer|figures))$/i

/** Files: with a text that the order gives, or with the figures that it asks for. */
export function readSave(part: Part): Reading | undefined {
  const tool = findWith(part.tools, 'file_name', 'content')
  const order = tool && readSaveOrder(part.text)
  if (!tool || !order) return undefined
  const { fileName, content, isQuoted } = order
  const save = (text: string) => reported({ tool, input: { file_name: fileName, content: text }, evidence: ['write', fileName] }, '')
  if (!isQuoted && pronoun.test(content)) {
    const { answer = '' } = part.turns.at(-1) ?? {}
    const shown = fileName.endsWith('.csv') ? readShownTable(answer) : undefined
    const text = shown ? toCsv({ columns: shown.titles, rows: shown.rows }) : fileName.endsWith('.csv') ? '' : answer
    return { score: scores.order, work: () => (text ? save(text) : said(`What should \`${fileName}\` hold?`)) }
  }
  const source = findWith(part.tools, 'sql')
  const facts = source && parseFacts(source)
  const query = facts && !isQuoted ? readChain({ questions: [content], facts }) : undefined
  if (!source || !facts || !query || query.unused.length > 0) return { score: scores.order, work: () => save(content) }
  const write = (rows: Rows) =>
    save(
      fileName.endsWith('.csv')
        ? toCsv(rows)
        : `${toTable(
            rows.columns,
            rows.rows.map((row) => row.map((value) => String(value ?? ''))),
          )}\n`,
    )
  return { score: scores.order, work: () => answerQuery({ tool: source, questions: [content], facts }, write) }
}

function toCsv({ columns, rows }: Rows): string {
  const cell = (value: unknown) => {
    const text = String(value ?? '')
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  }
  return `${[columns, ...rows].map((row) => row.map(cell).join(',')).join('\n')}\n`
}
