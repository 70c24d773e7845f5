import { setOf } from './language/words.ts'

/** Reads orders to write a file. */

export interface SaveOrder {
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
  const named = bare.findLastIndex((word) => fileName.test(word))
  const file = bare.findIndex((word) => word.toLowerCase() === 'file')
  const kindAt = bare.findIndex((word, index) => word.toLowerCase() in kinds && ['as', 'a'].includes(bare[index - 1] ?? ''))
  const at = named >= 0 ? named : file >= 0 ? file : kindAt
  if (at < 0) return undefined
  let first = at
  while (first > 0 && connectors.has(bare[first - 1]!.toLowerCase())) first--
  const kind = bare.slice(first, at + 1).find((word) => word.toLowerCase() in kinds)
  const end = words[at]!.end - (words[at]!.word.endsWith(':') ? 1 : 0)
  return { name: named < 0 ? (kinds[kind?.toLowerCase() ?? ''] ?? 'note.txt') : bare[at]!, start: words[first]!.start, end }
}
