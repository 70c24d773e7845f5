import type { Message } from '../agent/messages.ts'
import { addUsage, ModelError, type Model, type ModelReply, type ModelUsage } from '../agent/model.ts'
import { isBlank } from './blank.ts'

/** A complete answer with neither text nor calls nor files. `usage` holds the tokens that the provider counted for it. */
export class EmptyAnswerError extends ModelError {
  readonly usage: ModelUsage

  constructor(model: string, usage: ModelUsage) {
    super('unavailable', `${model} gave an empty answer`)
    this.usage = usage
  }
}

/**
 * The failure of a reply that ended regularly without content; undefined for a reply with content, or with an end that explains itself. After
 * tool calls a model may end without a word if an earlier message of the turn holds its answer.
 */
export function findEmptiness({ name }: Model, reply: ModelReply, messages: readonly Message[]): EmptyAnswerError | undefined {
  const { text, toolCalls, files, finish, usage } = reply
  const isRegular = finish === 'stop' || finish === 'tool_calls'
  if (!isRegular || toolCalls.length > 0 || files?.length || !isBlank(text) || hasSpoken(messages)) return undefined
  return new EmptyAnswerError(name, usage)
}

/** True if the model has written a text since the last question. */
function hasSpoken(messages: readonly Message[]): boolean {
  const start = messages.findLastIndex(({ role }) => role === 'user')
  return messages.slice(start + 1).some((message) => message.role === 'assistant' && !isBlank(message.text))
}

/** Adds the tokens of empty answers of the same model. Another model has other prices, so its tokens cannot be added. */
export function withSpent(reply: ModelReply, spent: readonly ModelUsage[]): ModelReply {
  const usages = spent.filter(({ model }) => model === reply.usage.model)
  return usages.length > 0 ? { ...reply, usage: usages.reduce(addUsage, reply.usage) } : reply
}
