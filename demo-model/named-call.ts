import type { JsonObject, JsonSchema } from '../src/agent/messages.ts'
import type { ToolOffer } from '../src/agent/model.ts'
import { fitName } from '../src/agent/tool-names.ts'
import { findToolsName } from '../src/agent/tool-offer.ts'
import { listed } from '../src/json/schema/schema-nodes.ts'
import { codeIn, jsonIn, urlIn } from './argument-words.ts'
import { fillArguments, isFreeText } from './arguments.ts'
import type { Call } from './part.ts'

/** Reads orders with the name of a tool, or with input for a single tool: code, an address or a specification. */

/** The call ordered by a message; undefined if there is no order, or if required input is missing. */
export function readNamedCall(message: string, tools: readonly ToolOffer[]): Call | undefined {
  const call = findNamed(message, tools)
  if (!call) return readByContent(message, tools) ?? searchNamedTool(message, tools)
  const input = inputIn(call.rest, call.tool.schema)
  return input && { tool: call.tool, input, evidence: [call.mention] }
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
    const isInside = before.includes('```') || before.includes('{') || (before.match(/"/g)?.length ?? 0) % 2 === 1
    if (isInside || !(isOrdered || /[_\d]/.test(mention))) continue
    return { tool, mention, rest: `${before} ${message.slice(index + mention.length + (isTicked ? 1 : 0))}` }
  }
  return undefined
}

/** The input; undefined if a required part is missing, or if a text would be guessed: words may give a number, a place or a date only. */
function inputIn(text: string, schema: JsonSchema): JsonObject | undefined {
  const { input, stated, missing } = fillArguments(schema, text, { isNamed: true })
  const isGuessed = listed(schema, 'required').some((name) => isFreeText(String(name)) && !stated.includes(String(name)))
  const isNothing = Object.keys(input).length === 0 && /["`{]/.test(text)
  return isNothing || isGuessed || missing.length > 0 ? undefined : input
}

/** Matches requests to read an address, but not requests that only mention an address. */
const readsPage =
  /^(?:please\s+|can you\s+|could you\s+)?(?:(?:read|open|fetch|load|get|visit|show(?: me)?|summari[sz]e|look at|check)\s+(?:the\s+|this\s+)?(?:(?:web\s*)?(?:page|site|article|link|url)\s*)?(?:at\s+|of\s+|from\s+)?|what (?:does|is on)\s+(?:the\s+page\s+)?)?<?https?:\/\//i
const marks = ['mark', 'layer', 'facet', 'concat', 'hconcat', 'vconcat', 'repeat']

/** Reads orders without a name: their content determines the tool. */
function readByContent(message: string, tools: readonly ToolOffer[]): Call | undefined {
  const code = codeIn(message)
  const isPython = code && (/^py(thon)?3?$/i.test(code.language) || /\bpython\b/i.test(message.slice(0, code.at)))
  if (isPython) return only(tools, 'code', /python/i, code.code)
  const spec = /^\W*(?:please\s+)?(?:chart|plot|draw|graph|visuali[sz]e)\b/i.test(message) ? jsonIn(message) : undefined
  if (spec && marks.some((key) => key in spec)) return only(tools, 'spec', /./, spec)
  const url = readsPage.test(message.trim()) ? urlIn(message) : undefined
  return url === undefined ? undefined : only(tools, 'url', /\b(page|web|site|fetch)/i, url)
}

/** The call of the tool with this single required parameter. */
function only(tools: readonly ToolOffer[], name: string, pattern: RegExp, value: JsonObject[string]): Call | undefined {
  const tool = tools.find(({ schema, name: toolName, description }) => {
    return listed(schema, 'required').join() === name && pattern.test(`${toolName.replaceAll('_', ' ')} ${description}`)
  })
  return tool && { tool, input: { [name]: value }, evidence: [name] }
}

/** Searches, once, for a named tool that is not among the offered tools. */
function searchNamedTool(message: string, tools: readonly ToolOffer[]): Call | undefined {
  const tool = tools.find(({ name }) => name === findToolsName)
  const query = /(?<![\w/.-])[A-Za-z0-9][\w-]*__[A-Za-z0-9][\w.-]*[A-Za-z0-9]/.exec(message)?.[0]
  return tool && query !== undefined ? { tool, input: { query }, evidence: [query] } : undefined
}
