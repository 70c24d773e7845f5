import type { Message } from '../agent/messages.ts'
import { ModelError, type Model, type ModelReply, type ModelRequest, type ModelSink } from '../agent/model.ts'

/**
 * Asks again without a part of the request that the provider refuses and that the model can do without:
 * - Data of the provider, when the provider cannot read the data any more: OpenAI encrypts reasoning for an organisation, and Azure for a
 *   resource, so a second account with the same model cannot read the reasoning of the first.
 * - The provider's native form of a schema: servers know different parts of JSON Schema, or none. The system prompt describes the schema in
 *   any case, and the answer is validated.
 */
export function withRefusals(model: Model): Model {
  async function reply(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelReply> {
    try {
      return await model.reply(request, sink, signal)
    } catch (error) {
      const smaller = !signal.aborted && error instanceof ModelError && error.code === 'refused' ? toSmaller(request, error) : undefined
      if (!smaller) throw error
      return reply(smaller, sink, signal)
    }
  }

  return { ...model, reply }
}

function hasVendor(message: Message): boolean {
  return message.role === 'assistant' && message.vendor !== undefined
}

/** The words in which providers refuse their own signed or encrypted parts. */
const unreadable = /encrypted.content|signature|['"`](?:reasoning|(?:redacted_)?thinking)['"`]/i

/** The request without the refused part; undefined if nothing can be left out. */
function toSmaller(request: ModelRequest, { message }: ModelError): ModelRequest | undefined {
  if (unreadable.test(message) && request.messages.some(hasVendor)) return { ...request, messages: request.messages.map(withoutVendor) }
  const { responseSchema, ...plain } = request
  return responseSchema && plain
}

function withoutVendor(message: Message): Message {
  if (message.role !== 'assistant') return message
  const { vendor: _, ...rest } = message
  return rest
}
