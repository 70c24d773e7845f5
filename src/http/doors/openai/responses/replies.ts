import { Type } from 'typebox'
import { GeneratedArtifact, waitingFields } from '../../../resources/schemas.ts'

/** Reply schemas of responses and conversations, for the OpenAPI document. */

const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([schema, Type.Null()])
const tokens = Type.Integer({ minimum: 0 })
const Fields = Type.Object({}, { additionalProperties: true })

export const Item = Type.Object(
  { id: Type.String(), type: Type.String({ description: '`message`, `function_call`, `function_call_output` or `reasoning`.' }) },
  { additionalProperties: true, description: 'An item as OpenAI’s API describes it; `type` decides on the other fields.' },
)

const Usage = Type.Object({
  input_tokens: tokens,
  output_tokens: tokens,
  total_tokens: tokens,
  input_tokens_details: Type.Object({ cached_tokens: tokens, cache_write_tokens: tokens }),
  output_tokens_details: Type.Object({ reasoning_tokens: tokens }),
})

export const ResponseReply = Type.Object({
  id: Type.String({ description: '`resp_<request id>`' }),
  object: Type.Enum(['response']),
  created_at: Type.Integer({ description: 'Epoch seconds.' }),
  completed_at: orNull(Type.Integer()),
  status: Type.Enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
  background: Type.Boolean(),
  error: orNull(Type.Object({ code: Type.String(), message: Type.String() })),
  incomplete_details: orNull(Type.Object({ reason: Type.Enum(['max_output_tokens', 'content_filter', 'approval_required']) })),
  model: Type.String(),
  instructions: orNull(Type.String()),
  metadata: Type.Record(Type.String(), Type.String()),
  previous_response_id: orNull(Type.String()),
  conversation: orNull(Type.Object({ id: Type.String() })),
  output: Type.Array(Item),
  usage: orNull(Usage),
  tools: Type.Array(Fields),
  tool_choice: Type.Union([Type.String(), Fields]),
  parallel_tool_calls: Type.Boolean(),
  max_tool_calls: Type.Null(),
  text: Fields,
  reasoning: orNull(Fields),
  store: Type.Boolean(),
  temperature: Type.Number(),
  top_p: Type.Number(),
  presence_penalty: Type.Number(),
  frequency_penalty: Type.Number(),
  top_logprobs: Type.Integer(),
  max_output_tokens: orNull(Type.Integer()),
  user: orNull(Type.String()),
  safety_identifier: orNull(Type.String()),
  prompt_cache_key: orNull(Type.String()),
  service_tier: Type.String(),
  truncation: Type.Enum(['auto']),
  ...waitingFields,
  generated_artifacts: Type.Optional(Type.Array(GeneratedArtifact, { description: 'Files of the run; absent for none.' })),
})

export const ResponseEvent = Type.Object(
  { type: Type.String({ description: 'The name of the event, such as `response.output_text.delta`.' }), sequence_number: Type.Integer() },
  { additionalProperties: true, description: 'An event of OpenAI’s API; `type` decides on the other fields.' },
)

export const Deleted = Type.Object({ id: Type.String(), object: Type.String(), deleted: Type.Boolean() })

export const ItemList = Type.Object({
  object: Type.Enum(['list']),
  data: Type.Array(Item),
  first_id: orNull(Type.String()),
  last_id: orNull(Type.String()),
  has_more: Type.Boolean(),
})
