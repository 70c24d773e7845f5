import type { ToolOffer } from '../../src/agent/model.ts'
import { listed } from '../../src/json/schema/schema-nodes.ts'
import { readNamedCall } from '../named-call.ts'
import { scores, type Part, type Reading } from '../part.ts'
import { answerQuery, readChain } from '../sql/answer-query.ts'
import { parseFacts } from '../sql/facts.ts'
import { findWith, isReader } from '../tools.ts'
import { reported, said } from '../work.ts'
import { toTable, type Rows } from '../answers/rows.ts'
import { readShownTable } from '../answers/shown-table.ts'
import { readSaveOrder } from '../save-order.ts'

/** Orders that name a tool, and orders to write a file. */

export function readNames(part: Part): Reading | undefined {
  const words: string[] = part.text.match(/\w+/g) ?? []
  const call = readNamedCall(part.text, part.tools)
  const named = call?.tool ?? part.tools.find(({ name }) => name.includes('_') && words.includes(name))
  if (named && asksAbout.test(part.text) && !(call && isReader(named)))
    return { score: scores.order, work: () => said(describeTool(named)) }
  // "Do not use refund" names the tool, but forbids the call.
  if (call && !isReader(call.tool) && forbids.test(part.text.replaceAll(/"[^"]*"|“[^“”]*”/g, '')))
    return { score: scores.order, work: () => said(`I have not run \`${call.tool.name}\`: nothing was changed.`) }
  return call && { score: scores.order, work: () => reported(call, part.text) }
}

function describeTool({ name, description, schema }: ToolOffer): string {
  const required = listed(schema, 'required').map((own) => `\`${String(own)}\``)
  const needs = required.length > 0 ? ` To order a call, please name ${required.join(', ')}.` : ''
  return `\`${name}\`: ${description.split('\n', 1)[0]} I have not run it.${needs}`
}

const asksAbout = /^(?:please )?(?:what|how|why|when|which|who|explain|describe|show|tell|is|are|does|do (?:i|we)|can (?:i|we)|should)\b/i
const forbids = /\b(?:not|never|don['’]t|no|without|avoid|stop)\b/i

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
