import { ModelError, type Model, type ModelEvent, type ModelReply, type ModelRequest } from '../agent/model.ts'

/**
 * Asks again without the provider's native form of a schema where the provider refuses the request: servers know different parts of JSON
 * Schema, or none. The system prompt describes the schema in any case, and the answer is validated.
 */
export function withSchemaRefusals(model: Model): Model {
  async function* reply(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, ModelReply> {
    try {
      return yield* model.reply(request, signal)
    } catch (error) {
      if (signal.aborted || !(error instanceof ModelError) || error.code !== 'refused') throw error
    }
    const { responseSchema: _, ...plain } = request
    return yield* model.reply(plain, signal)
  }

  // A request without a schema takes no detour: every token would pass this generator.
  return { ...model, reply: (request, signal) => (request.responseSchema ? reply(request, signal) : model.reply(request, signal)) }
}
