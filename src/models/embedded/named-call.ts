import { fitName } from '../../agent/tool-names.ts'
import { findToolsName } from '../../agent/tool-offer.ts'
import type { JsonObject, JsonSchema, JsonValue } from '../../agent/messages.ts'
import type { ToolOffer } from '../../agent/model.ts'
import { fillArguments } from './arguments.ts'
import type { Choice } from './choose-tool.ts'
import { codeIn, jsonIn, quotedIn, urlIn } from './literals.ts'
import { wordsOf } from './words.ts'

/** Reads orders that name a tool, or contain input that only one tool accepts: code, an address or a specification. */

/** Score of an order, which outweighs any number of shared words. */
const orderScore = 20

/** The call ordered by a message; undefined if there is no order, or if required input is missing. */
export function readNamedCall(message: string, tools: readonly ToolOffer[]): Choice | undefined {
  const namedTool = findNamed(message, tools)
  if (namedTool) {
    const input = readArguments(namedTool.rest, namedTool.tool.schema)
    return input && { tool: namedTool.tool, input, evidence: [namedTool.mention], score: orderScore }
  }
  return readOrder(message, tools) ?? searchNamedTool(message, tools)
}

interface NamedTool {
  tool: ToolOffer
  mention: string
  /** The message without the name of the tool. */
  rest: string
}

/** Limit of mentions in a message. Messages may be long, and each mention is examined with the text before. */
const maxMentions = 20

/** Finds the named tool. A name such as `everything__echo` is unambiguous; an ordinary word counts only after `use`, or in backticks. */
function findNamed(message: string, tools: readonly ToolOffer[]): NamedTool | undefined {
  const names = new Map(tools.map((tool) => [tool.name, tool]))
  let mentions = 0
  for (const { 0: token, index } of message.matchAll(/[\p{L}\d][\p{L}\d_.:-]*/gu)) {
    const mention = token.replace(/(?<![.:-])[.:-]+$/, '')
    const tool = names.get(mention) ?? names.get(fitName(mention))
    if (!tool) continue
    if (++mentions > maxMentions) return undefined
    const isTicked = message[index - 1] === '`' && message[index + mention.length] === '`'
    const isOrdered =
      isTicked || /\b(?:use|call|run|invoke|execute)\s+(?:the\s+)?(?:tool\s+)?$/i.test(message.slice(Math.max(0, index - 40), index))
    const before = message.slice(0, isTicked ? index - 1 : index)
    // A name inside of a value is no order.
    if (isInside(before) || !(isOrdered || /[_\d]/.test(mention))) continue
    return { tool, mention, rest: `${before} ${message.slice(index + mention.length + (isTicked ? 1 : 0))}` }
  }
  return undefined
}

function isInside(before: string): boolean {
  return before.includes('```') || before.includes('{') || (before.match(/"/g)?.length ?? 0) % 2 === 1
}

interface Property extends JsonSchema {
  type?: unknown
}

/** Reads arguments as JSON, as `name: value` and `name "value"`, or as text for the only required text. Undefined if required input is missing. */
function readArguments(text: string, schema: JsonSchema): JsonObject | undefined {
  const properties = (schema['properties'] ?? {}) as Record<string, Property>
  const required = Array.isArray(schema['required']) ? (schema['required'] as string[]) : []
  const isComplete = (input: JsonObject) => required.every((name) => name in input)
  const json = jsonIn(text)
  if (json) {
    const isInput = Object.keys(json).every((key) => key in properties)
    const only = required.filter((name) => typeOf(properties[name]) === 'object')
    const input = isInput ? json : only.length === 1 ? { [only[0]!]: json } : undefined
    if (input && isComplete(input)) return input
  }
  const pairs = readPairs(text, properties)
  const open = required.filter((name) => !(name in pairs))
  if (open.length === 0) return Object.keys(pairs).length > 0 || !/["`{]/.test(text) ? pairs : undefined
  const [name = ''] = open
  const isText = open.length === 1 && typeOf(properties[name]) === 'string'
  const value = isText && Object.keys(pairs).length === 0 ? oneText(text, name, properties[name]!) : undefined
  if (value !== undefined) return { [name]: value }
  // Words may give a number, a place or a date, but never a free text.
  const filled = fillArguments({ ...schema, properties: pick(properties, open), required: open }, text.slice(0, maxOrder))
  return filled && open.every((name) => filled.filledNames.includes(name)) ? { ...filled.input, ...pairs } : undefined
}

/** Limit of an order in words. A longer message contains a text. */
const maxOrder = 2400

function pick(properties: Record<string, Property>, names: readonly string[]): Record<string, Property> {
  return Object.fromEntries(names.flatMap((name) => (properties[name] ? [[name, properties[name]]] : [])))
}

function typeOf(property: Property | undefined): unknown {
  const type = property?.type
  return Array.isArray(type) ? type[0] : type
}

function oneText(text: string, name: string, property: Property): string | undefined {
  const url = /ur[il]|link/i.test(name) || property['format'] === 'uri' ? urlIn(text) : undefined
  return url ?? codeIn(text)?.code ?? quotedIn(text) ?? /:\s+(\S[^]*)$/.exec(text)?.[1]?.trim()
}

function readPairs(text: string, properties: Record<string, Property>): JsonObject {
  const input: JsonObject = {}
  for (const [name, property] of Object.entries(properties)) {
    const spoken = [name, wordsOf(name).join(' ')].map((spelling) => spelling.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')
    const pair = new RegExp(
      `(?<![\\w-])["'\`]?(?:${spoken})["'\`]?(?:\\s*[:=]\\s*|\\s+(?=["“\`[]))("(?:[^"\\\\]|\\\\.)*"|“[^”]*”|\`[^\`]*\`|'[^']*'|\\[[^\\]]*\\]|[^\\s,;]+)`,
      'i',
    ).exec(text)
    const value = pair?.[1] === undefined ? undefined : toValue(pair[1], typeOf(property))
    if (value !== undefined) input[name] = value
  }
  return input
}

function toValue(raw: string, type: unknown): JsonValue | undefined {
  const plain = /^["“`'].*["”`']$/s.test(raw) ? raw.slice(1, -1).replace(/\\(["\\])/g, '$1') : raw
  if (type === 'integer' || type === 'number') return plain !== '' && Number.isFinite(Number(plain)) ? Number(plain) : undefined
  if (type === 'boolean') return /^(true|yes|on)$/i.test(plain) ? true : /^(false|no|off)$/i.test(plain) ? false : undefined
  if (type !== 'array' && type !== 'object') return raw === plain ? plain.replace(/[.!?]$/, '') : plain
  try {
    return JSON.parse(raw) as JsonValue
  } catch {
    return undefined
  }
}

/** Reads orders without a name: their content determines the tool. */
function readOrder(message: string, tools: readonly ToolOffer[]): Choice | undefined {
  const code = codeIn(message)
  if (code && (/^py(thon)?3?$/i.test(code.language) || /\bpython\b/i.test(message.slice(0, code.at)))) {
    const tool = tools.find((tool) => takesOnly(tool, 'code') && /python/i.test(`${tool.name} ${tool.description}`))
    if (tool) return { tool, input: { code: code.code }, evidence: ['Python'], score: orderScore }
  }
  const spec = /^\W*(?:please\s+)?(?:chart|plot|draw|graph|visuali[sz]e)\b/i.test(message) ? jsonIn(message) : undefined
  if (spec && ['mark', 'layer', 'facet', 'concat', 'hconcat', 'vconcat', 'repeat'].some((key) => key in spec)) {
    const tool = tools.find((tool) => takesOnly(tool, 'spec'))
    if (tool) return { tool, input: { spec }, evidence: ['chart'], score: orderScore }
  }
  const url = readsPage.test(message.trim()) ? urlIn(message) : undefined
  const tool =
    url === undefined
      ? undefined
      : tools.find(
          (tool) => takesOnly(tool, 'url') && /\b(page|web|site|fetch)/i.test(`${tool.name.replaceAll('_', ' ')} ${tool.description}`),
        )
  return tool && { tool, input: { url: url! }, evidence: [url!], score: orderScore }
}

/** Matches requests to read an address, but not requests that only mention an address. */
const readsPage =
  /^(?:please\s+|can you\s+|could you\s+)?(?:(?:read|open|fetch|load|get|visit|browse|show(?: me)?|summari[sz]e|look at|check)\s+(?:the\s+|this\s+)?(?:(?:web\s*)?(?:page|site|article|link|url)\s*|web\s+)?(?:at\s+|of\s+|from\s+)?|what (?:does|is on|stands on|is at)\s+(?:the\s+page\s+)?)?<?https?:\/\//i

function takesOnly({ schema }: ToolOffer, name: string): boolean {
  const required = Array.isArray(schema['required']) ? (schema['required'] as string[]) : []
  return required.length === 1 && required[0] === name
}

/** Searches, once, for a named tool that is not among the offered tools. */
function searchNamedTool(message: string, tools: readonly ToolOffer[]): Choice | undefined {
  const tool = tools.find(({ name }) => name === findToolsName)
  const query = /(?<![\w/.-])[A-Za-z0-9][\w-]*__[A-Za-z0-9][\w.-]*[A-Za-z0-9]/.exec(message)?.[0]
  return tool && query !== undefined ? { tool, input: { query }, evidence: [query], score: orderScore } : undefined
}
