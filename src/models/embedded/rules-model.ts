import type { Model, ModelEvent, ModelReply, ModelRequest } from '../../agent/model.ts'
import { ModelError } from '../../agent/model.ts'
import { respond } from './respond.ts'

/** Pieces of a streamed answer: up to four words each. */
const pieces = /(?:\S+\s*){1,4}|\s+/g

/**
 * Creates a model without key and network. Rules decide, from the request alone, which tool to call with which input, and describe the
 * results. Throws `ModelError('refused')` for images.
 */
export function createRulesModel(name: string): Model {
  return {
    name,
    seesImages: false,
    async *reply(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, ModelReply> {
      if (showsImages(request))
        throw new ModelError('refused', `The embedded model ${name} cannot see images. Configure another model in llms.primary.`)
      signal.throwIfAborted()
      const { text, reasoning, calls } = respond(name, request)
      if (reasoning !== '') yield { type: 'reasoning', text: reasoning }
      for (const piece of text.match(pieces) ?? []) {
        signal.throwIfAborted()
        yield { type: 'text', text: piece }
      }
      const reasoningTokens = countTokens(reasoning)
      const output =
        reasoningTokens + countTokens(text) + calls.reduce((sum, call) => sum + countTokens(call.name) + countTokens(call.arguments), 0)
      const usage = { model: name, input: countInput(request), output, cachedInput: 0, reasoning: reasoningTokens }
      return { text, reasoning, toolCalls: calls, finish: calls.length > 0 ? 'tool_calls' : 'stop', usage }
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
