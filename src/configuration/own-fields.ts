import type { Wire } from './model-rows/row.ts'
import { wireOf } from './model-abilities.ts'

/** The fields of a request on chat completions that the service sets itself. A configuration cannot set them by `extra_body`. */
export const ownFields: readonly string[] = [
  ...['model', 'messages', 'tools', 'tool_choice', 'parallel_tool_calls', 'stream', 'stream_options', 'n', 'temperature', 'top_p'],
  ...['presence_penalty', 'frequency_penalty', 'stop', 'seed', 'random_seed', 'max_tokens', 'max_completion_tokens'],
  ...['reasoning_effort', 'response_format'],
]

/** The fields of a request on the responses API that the service sets itself, or that would make the provider keep the conversation. */
const ofResponses: readonly string[] = [
  ...['model', 'input', 'instructions', 'tools', 'tool_choice', 'parallel_tool_calls', 'stream', 'stream_options', 'store', 'include'],
  ...['temperature', 'top_p', 'max_output_tokens', 'reasoning', 'background', 'conversation', 'previous_response_id'],
]

/** The provider options of the AI SDK that the service sets itself, for all of its providers. */
const ofAiSdk: readonly string[] = [
  ...['thinking', 'effort', 'cacheControl', 'disableParallelToolUse', 'mcpServers', 'structuredOutputMode', 'sendReasoning'],
  ...['thinkingConfig', 'structuredOutputs', 'reasoningConfig'],
]

const fieldsOf: Record<Wire, readonly string[]> = {
  'chat-completions': ownFields,
  responses: ofResponses,
  'ai-sdk': ofAiSdk,
  embedded: [],
}

/** The fields that `extra_body` of a model must not have. */
export function ownFieldsOf(model: Parameters<typeof wireOf>[0]): readonly string[] {
  return fieldsOf[wireOf(model)]
}
