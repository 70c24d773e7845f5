import { Type, type TSchema } from 'typebox'
import { ApprovalRequired } from '../schemas.ts'

/** Reply schemas of the routes for OpenAI clients, for the OpenAPI document. */

const orNull = (schema: TSchema) => Type.Union([schema, Type.Null()])
const tokens = Type.Integer({ minimum: 0 })

export const OpenAiErrorReply = Type.Object(
  {
    error: Type.Object({
      message: Type.String(),
      type: Type.String(),
      param: orNull(Type.String({ description: 'The faulty field.' })),
      code: orNull(Type.String()),
    }),
  },
  { description: 'An error in the shape of OpenAI’s API.' },
)

export function openAiRefusals(...statuses: number[]): Record<number, TSchema> {
  return Object.fromEntries(statuses.map((status) => [status, OpenAiErrorReply]))
}

export const Model = Type.Object({
  id: Type.String(),
  object: Type.Enum(['model']),
  created: Type.Integer({ description: 'Epoch seconds.' }),
  owned_by: Type.String(),
})

export const ModelList = Type.Object({ object: Type.Enum(['list']), data: Type.Array(Model) })

export const ChatCompletion = Type.Object({
  id: Type.String({ description: '`chatcmpl-<request id>`' }),
  object: Type.Enum(['chat.completion']),
  created: Type.Integer(),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      message: Type.Object({
        role: Type.Enum(['assistant']),
        content: Type.String(),
        refusal: Type.Null(),
        reasoning_content: Type.Optional(Type.String()),
      }),
      logprobs: Type.Null(),
      finish_reason: Type.Enum(['stop', 'length', 'content_filter']),
    }),
  ),
  usage: Type.Object({
    prompt_tokens: tokens,
    completion_tokens: tokens,
    total_tokens: tokens,
    prompt_tokens_details: Type.Object({ cached_tokens: tokens }),
    completion_tokens_details: Type.Object({ reasoning_tokens: tokens }),
  }),
  approval_required: Type.Optional(ApprovalRequired),
})

const OutputMessage = Type.Object({
  id: Type.String(),
  type: Type.Enum(['message']),
  role: Type.Enum(['assistant']),
  status: Type.Enum(['completed', 'incomplete']),
  phase: Type.Enum(['commentary', 'final_answer']),
  content: Type.Array(
    Type.Object({
      type: Type.Enum(['output_text']),
      text: Type.String(),
      annotations: Type.Array(Type.Unknown()),
      logprobs: Type.Array(Type.Unknown()),
    }),
  ),
})

export const ResponseReply = Type.Object({
  id: Type.String({ description: '`resp_<request id>`' }),
  object: Type.Enum(['response']),
  created_at: Type.Integer(),
  completed_at: orNull(Type.Integer()),
  status: Type.Enum(['completed', 'incomplete']),
  background: Type.Boolean(),
  error: Type.Null(),
  incomplete_details: orNull(Type.Object({ reason: Type.Enum(['max_output_tokens', 'content_filter', 'approval_required']) })),
  model: Type.String(),
  instructions: orNull(Type.String()),
  metadata: Type.Record(Type.String(), Type.String()),
  output: Type.Array(OutputMessage),
  usage: orNull(
    Type.Object({
      input_tokens: tokens,
      output_tokens: tokens,
      total_tokens: tokens,
      input_tokens_details: Type.Object({ cached_tokens: tokens, cache_write_tokens: tokens }),
      output_tokens_details: Type.Object({ reasoning_tokens: tokens }),
    }),
  ),
  parallel_tool_calls: Type.Boolean(),
  previous_response_id: Type.Null(),
  store: Type.Boolean(),
  temperature: Type.Number(),
  top_p: Type.Number(),
  presence_penalty: Type.Number(),
  frequency_penalty: Type.Number(),
  top_logprobs: Type.Integer(),
  reasoning: Type.Null(),
  max_output_tokens: Type.Null(),
  max_tool_calls: Type.Null(),
  service_tier: Type.String(),
  safety_identifier: Type.Null(),
  prompt_cache_key: Type.Null(),
  text: Type.Object({ format: Type.Object({ type: Type.Enum(['text']) }) }),
  tool_choice: Type.Enum(['auto', 'none']),
  tools: Type.Array(Type.Unknown()),
  truncation: Type.Enum(['auto']),
  approval_required: Type.Optional(ApprovalRequired),
})

const Delta = Type.Object({
  role: Type.Optional(Type.Enum(['assistant'])),
  content: Type.Optional(Type.String()),
  reasoning_content: Type.Optional(Type.String()),
})

export const ChatCompletionChunk = Type.Object({
  id: Type.String({ description: '`chatcmpl-<request id>`' }),
  object: Type.Enum(['chat.completion.chunk']),
  created: Type.Integer(),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      delta: Delta,
      logprobs: Type.Null(),
      finish_reason: orNull(Type.Enum(['stop', 'length', 'content_filter'])),
    }),
    { description: 'Empty in the chunk that states the usage.' },
  ),
  usage: Type.Optional(orNull(ChatCompletion.properties.usage)),
  approval_required: Type.Optional(ApprovalRequired),
})

export const ResponseEvent = Type.Object(
  { type: Type.String({ example: 'response.output_text.delta' }), sequence_number: Type.Integer() },
  { additionalProperties: true, description: 'An event of OpenAI’s API; `type` decides on the other fields.' },
)

/** A reply that is JSON, or server-sent events for `stream: true`: `event` describes the `data` of one event. */
export function jsonOrEvents(json: TSchema, event: TSchema, events: string): object {
  return {
    description: `A JSON answer; with \`stream\`, server-sent events, described by the schema of one \`data\`: ${events}`,
    content: { 'application/json': { schema: json }, 'text/event-stream': { schema: event } },
  }
}
