import type { JsonObject, JsonSchema, JsonValue } from '../src/agent/messages.ts'
import {
  type Model,
  ModelError,
  type ModelOptions,
  type ModelReply,
  type ModelRequest,
  type ModelSink,
  type RequestedCall,
} from '../src/agent/model.ts'
import { listed, named } from '../src/json/schema/schema-nodes.ts'
import { fillArguments, typeOf } from './arguments.ts'
import { respond } from './respond.ts'
import { needsYes, toProfile, weigh } from './tools.ts'

/** Pieces of a streamed answer: up to four words each. */
const pieces = /(?:\S+\s*){1,4}|\s+/g

/**
 * Creates a model without key and network. Rules decide, from the request alone, which tool to call with which input, and describe the
 * results. Without `writes` it leaves out tools that change something. Throws `ModelError('refused')` for images.
 */
export function createDemoModel(name: string, { writes = true } = {}): Model {
  return {
    name,
    seesImages: false,
    async reply(whole: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelReply> {
      const request = { ...whole, tools: whole.tools.filter(({ effect, provider }) => !provider && (writes || effect === 'read')) }
      if (showsImages(request))
        throw new ModelError('refused', `The embedded model ${name} cannot see images. Configure another model in llms.primary.`)
      signal.throwIfAborted()
      const response = respond(name, request)
      const { reasoning } = response
      const forced = response.calls.length === 0 ? callOf(request) : undefined
      const calls = forced ? [forced] : response.calls
      const { text, isCut } = limitText(forced ? '' : response.text, request.options)
      if (reasoning !== '') await sink({ type: 'reasoning', text: reasoning })
      for (const piece of text.match(pieces) ?? []) {
        signal.throwIfAborted()
        const pause = sink({ type: 'text', text: piece })
        if (pause) await pause
      }
      const reasoningTokens = countTokens(reasoning)
      const output =
        reasoningTokens + countTokens(text) + calls.reduce((sum, call) => sum + countTokens(call.name) + countTokens(call.arguments), 0)
      const usage = { model: name, input: countInput(request), output, cachedInput: 0, reasoning: reasoningTokens }
      return { text, reasoning, toolCalls: calls, finish: calls.length > 0 ? 'tool_calls' : isCut ? 'length' : 'stop', usage }
    },
  }
}

/** Checks only images of the question. Images of earlier turns may have been for another model. */
function showsImages({ messages }: ModelRequest): boolean {
  const last = messages.findLast((message) => message.role === 'user')
  return last?.role === 'user' && (last.images?.length ?? 0) > 0
}

function countInput({ system, messages, tools }: ModelRequest): number {
  let count = countTokens(system)
  for (const message of messages) {
    count += countTokens(message.text)
    if (message.role === 'assistant') for (const call of message.toolCalls) count += countTokens(call.name) + countTokens(call.arguments)
  }
  for (const tool of tools) count += countTokens(tool.name) + countTokens(tool.description) + countTokens(JSON.stringify(tool.schema))
  return count
}

/** Characters of a question for the comparison with tools. */
const maxQuestion = 2_000

/** The call that a request demands although no tool fits the question; undefined where none is demanded. */
function callOf({ options, tools, messages }: ModelRequest): RequestedCall | undefined {
  const choice = options?.toolChoice
  if (choice === undefined || choice === 'auto' || choice === 'none') return undefined
  const candidates = tools.filter((tool) => !needsYes(tool) && (typeof choice !== 'object' || tool.name === choice.name))
  const question = messages.findLast((message) => message.role === 'user')?.text ?? ''
  const profiles = candidates.map(toProfile)
  const weights = profiles.map((profile) => weigh(profile, question.slice(0, maxQuestion), profiles).score)
  const tool = candidates[weights.indexOf(Math.max(...weights))]
  return tool && { name: tool.name, arguments: JSON.stringify(inputFrom(tool.schema, question)) }
}

/** An input with all required parameters: what the question gives, the question itself for texts, and empty values. */
function inputFrom(schema: JsonSchema, question: string): JsonObject {
  const { input, missing } = fillArguments(schema, question)
  const properties = named(schema, 'properties') as Record<string, JsonSchema>
  return { ...input, ...Object.fromEntries(missing.map((name) => [name, valueOf(properties[name] ?? {}, question)])) }
}

function valueOf(schema: JsonSchema, question: string): JsonValue {
  if ('enum' in schema) return (listed(schema, 'enum')[0] ?? null) as JsonValue
  const type = typeOf(schema)
  if (type === 'integer' || type === 'number') return Number(schema['minimum'] ?? 0)
  if (type === 'boolean' || type === 'null') return type === 'null' ? null : false
  if (type === 'array') return []
  return type === 'object' ? inputFrom(schema, question) : question
}

/** Cuts an answer before the first stop text, then behind the last word within the tokens. `isCut`: the tokens were used up. */
function limitText(text: string, { stop = [], maxOutputTokens }: ModelOptions = {}): { text: string; isCut: boolean } {
  const ends = stop.flatMap((end) => (end !== '' && text.includes(end) ? [text.indexOf(end)] : []))
  const stopped = ends.length > 0 ? text.slice(0, Math.min(...ends)) : text
  if (maxOutputTokens === undefined || countTokens(stopped) <= maxOutputTokens) return { text: stopped, isCut: false }
  let short = ''
  let tokens = 0
  for (const word of stopped.match(/\S+\s*/g) ?? []) {
    tokens += countTokens(word)
    if (tokens > maxOutputTokens) break
    short += word
  }
  return { text: short.trimEnd(), isCut: true }
}

/** Estimates tokens: a token for every started four characters of a word. */
function countTokens(text: string): number {
  let count = 0
  let length = 0
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) > 32) {
      if (length % 4 === 0) count++
      length++
    } else length = 0
  }
  return count
}
