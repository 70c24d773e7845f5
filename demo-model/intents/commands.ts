import type { ToolOffer } from '../../src/agent/model.ts'
import { listed } from '../../src/json/schema/schema-nodes.ts'
import { readShownTable, toTable, type Rows } from '../answers/rows.ts'
import { setOf } from '../language/words.ts'
import { readNamedCall } from '../named-call.ts'
import { reported, said, scores, type Part, type Reading } from '../part.ts'
import { answerQuery, readChain } from '../sql/answer-query.ts'
import { parseFacts } from '../sql/facts.ts'
import { findWith, isReader } from '../tools.ts'

/** Orders with the name of a tool, and orders to write a file. */

export function readNames(part: Part): Reading | undefined {
  const words: string[] = part.text.match(/\w+/g) ?? []
  const call = readNamedCall(part.text, part.tools)
  const tool = call?.tool ?? part.tools.find(({ name }) => name.includes('_') && words.includes(name))
  if (tool && asksAbout.test(part.text) && !(call && isReader(tool))) return { score: scores.order, work: () => said(describeTool(tool)) }
  // "Do not use refund" names the tool, but forbids the call.
  if (call && !isReader(call.tool) && forbids.test(part.text.replaceAll(/"[^"]*"|“[^“”]*”/g, '')))
    return { score: scores.order, work: () => said(`I have not run \`${call.tool.name}\`: nothing was changed.`) }
  return call && { score: scores.order, work: () => reported(call, part.text) }
}

function describeTool({ name, description, schema }: ToolOffer): string {
  const required = listed(schema, 'required').map((parameter) => `\`${String(parameter)}\``)
  const needs = required.length > 0 ? ` To order a call, please name ${required.join(', ')}.` : ''
  return `\`${name}\`: ${description.split('\n', 1)[0]} I have not run it.${needs}`
}

const asksAbout = /^(?:please )?(?:what|how|why|when|which|who|explain|describe|show|tell|is|are|does|do (?:i|we)|can (?:i|we)|should)\b/i
const forbids = /\b(?:not|never|don['’]t|no|without|avoid|stop)\b/i

/** Words for the answer before. */
const pronoun = /^(?:that|this|it|them|these|those|the (?:table|list|result|answer|figures))$/i

/** Files with the text of the order, or with figures. */
export function readSave(part: Part): Reading | undefined {
  const tool = findWith(part.tools, 'file_name', 'content')
  const order = tool && readSaveOrder(part.text)
  if (!tool || !order) return undefined
  const { fileName, content, isQuoted } = order
  const save = (text: string) => reported({ tool, input: { file_name: fileName, content: text }, evidence: ['write', fileName] }, '')
  if (!isQuoted && pronoun.test(content)) {
    const { answer = '' } = part.turns.at(-1) ?? {}
    const table = fileName.endsWith('.csv') ? readShownTable(answer) : undefined
    const text = table ? toCsv({ columns: table.titles, rows: table.rows }) : fileName.endsWith('.csv') ? '' : answer
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

/** Reads orders to write a file. */

interface SaveOrder {
  fileName: string
  content: string
  isQuoted: boolean
}

const order = /^(?:please |can you |could you )*(?:write|save|store|put|create|make|export|generate)\s+(.+)$/is
const fileName = /^[\w-][\w.-]*\.[a-z][a-z0-9]{0,4}$/i
/** Words between the content and the name: "to a new text file called". */
const connectors = setOf('in to into as a an the new text csv markdown md file called named')
const kinds: Record<string, string> = { csv: 'table.csv', markdown: 'table.md', md: 'table.md' }
const leadIn = /^(?:with|containing|of|saying|that says|the (?:text|words?))?\s*(?:the (?:text|words?|content)\s*)?[:,]?\s*/i
/** Longest order. A longer message has a text in front. */
const maxOrder = 20_000

/** The file that a request orders to write; undefined without such an order. */
export function readSaveOrder(request: string): SaveOrder | undefined {
  const ordered = request.length > maxOrder ? undefined : order.exec(request.trim().replace(/,? please\W*$/i, ''))?.[1]
  const target = ordered === undefined ? undefined : findTarget(ordered)
  if (ordered === undefined || !target) return undefined
  const rest = `${ordered.slice(0, target.start)} ${ordered.slice(target.end)}`.trim()
  const quoted = /^(?:[^"“`']*\s)?["“`'](.+)["”`']\W*$/s.exec(rest)?.[1]
  const content = quoted ?? rest.replace(leadIn, '')
  return content === '' ? undefined : { fileName: target.name, content, isQuoted: quoted !== undefined }
}

/** The name of the file, or else the words "a CSV file", with the words that lead to it. */
function findTarget(text: string): { name: string; start: number; end: number } | undefined {
  const words = [...text.matchAll(/\S+/g)].map(({ 0: word, index }) => ({ word, start: index, end: index + word.length }))
  const bare = words.map(({ word }) => word.replace(/^["'`“]|["'`”]?[.,:]?$/g, ''))
  const nameAt = bare.findLastIndex((word) => fileName.test(word))
  const file = bare.findIndex((word) => word.toLowerCase() === 'file')
  const kindAt = bare.findIndex((word, index) => word.toLowerCase() in kinds && ['as', 'a'].includes(bare[index - 1] ?? ''))
  const at = nameAt >= 0 ? nameAt : file >= 0 ? file : kindAt
  if (at < 0) return undefined
  let first = at
  while (first > 0 && connectors.has(bare[first - 1]!.toLowerCase())) first--
  const kind = bare.slice(first, at + 1).find((word) => word.toLowerCase() in kinds)
  const end = words[at]!.end - (words[at]!.word.endsWith(':') ? 1 : 0)
  return { name: nameAt < 0 ? (kinds[kind?.toLowerCase() ?? ''] ?? 'note.txt') : bare[at]!, start: words[first]!.start, end }
}
