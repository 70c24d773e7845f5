import type { Model, ModelEvent, ModelReply, ModelRequest } from '../../agent/model.ts'
import { ModelError } from '../../agent/model.ts'
import { respond } from './respond.ts'

/** Words of one piece of a streamed answer. */
const pieces = /(?:\S+\s*){1,4}|\s+/g

/**
 * A model that needs no key and no network: it decides by rules, from the request alone, which tool to call with what, and reports what
 * the results say. Throws `ModelError('refused')` for images.
 */
export function createRulesModel(name: string): Model {
  return {
    name,
    seesImages: false,
    async *reply(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, ModelReply> {
      if (showsImages(request))
        throw new ModelError('refused', `The embedded model ${name} can not see images. Configure another one in llms.primary.`)
      signal.throwIfAborted()
      const { text, reasoning, calls } = respond(name, request)
      if (reasoning !== '') yield { type: 'reasoning', text: reasoning }
      for (const piece of text.match(pieces) ?? []) {
        signal.throwIfAborted()
        yield { type: 'text', text: piece }
      }
      const thought = countTokens(reasoning)
      const output =
        thought + countTokens(text) + calls.reduce((sum, call) => sum + countTokens(call.name) + countTokens(call.arguments), 0)
      const usage = { model: name, input: countInput(request), output, cachedInput: 0, reasoning: thought }
      return { text, reasoning, toolCalls: calls, finish: calls.length > 0 ? 'tool_calls' : 'stop', usage }
    },
  }
}

/** Only the question's own images count: those of earlier turns may have been meant for another model. */
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

/** An estimate of tokens: a word counts one for every four characters or part of them. */
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
