import type { Model, ModelEvent, ModelReply, ModelRequest } from '../src/agent/model.ts'
import { ModelError } from '../src/agent/model.ts'
import { callOf } from './forced-call.ts'
import { limitText } from './limit-text.ts'
import { respond } from './respond.ts'
import { countTokens } from './tokens.ts'

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
    async *reply(whole: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, ModelReply> {
      const request = { ...whole, tools: whole.tools.filter(({ effect, provider }) => !provider && (writes || effect === 'read')) }
      if (showsImages(request))
        throw new ModelError('refused', `The embedded model ${name} cannot see images. Configure another model in llms.primary.`)
      signal.throwIfAborted()
      const response = respond(name, request)
      const { reasoning } = response
      const forced = response.calls.length === 0 ? callOf(request) : undefined
      const calls = forced ? [forced] : response.calls
      const { text, isCut } = limitText(forced ? '' : response.text, request.options)
      if (reasoning !== '') yield { type: 'reasoning', text: reasoning }
      for (const piece of text.match(pieces) ?? []) {
        signal.throwIfAborted()
        yield { type: 'text', text: piece }
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
