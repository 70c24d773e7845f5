import { each, object, maybe, orNull } from '../../../schemas/shared.ts'
import { Type, type Static } from 'typebox'
import { clientToolName, waitingFields } from '../../../schemas/chat.ts'
import { artifactFields, listOf } from '../replies.ts'
import { InputAudio, Reasoning, sampling, Verbosity } from '../parameters.ts'

/** Schemas of responses: the request, whose parameters are checked in `parameters.ts`, and the replies. */

const maxItems = 2000

const text = maybe(Type.String())

const Part = Type.Object({
  type: Type.Enum([
    'input_text',
    'input_image',
    'input_file',
    'input_audio',
    'output_text',
    'refusal',
    'text',
    'summary_text',
    'reasoning_text',
  ]),
  text,
  refusal: text,
  image_url: maybe(Type.String({ description: 'A data: URL; other URLs are refused with 400.' })),
  file_id: maybe(Type.String({ maxLength: 200, description: 'The id of an uploaded file (`POST /v1/files`).' })),
  file_data: maybe(Type.String({ description: 'The bytes of a file in base64, or as a data: URL, instead of `file_id`.' })),
  filename: maybe(Type.String({ maxLength: 1000, description: 'Required with `file_data`.' })),
  file_url: maybe(Type.String({ description: 'Refused with 400: files are not fetched from other addresses.' })),
  input_audio: InputAudio,
})

const Content = Type.Union([Type.String(), Type.Array(Part, { maxItems })])

/** An input item. Which fields are required depends on `type`; `toItems` checks. */
export const InputItem = object(
  'A message, a call of a function tool, its output, or a reference to an item of an earlier response. Reasoning is ignored.',
  {
    type: maybe(
      Type.Enum(['message', 'item_reference', 'reasoning', 'function_call', 'function_call_output', 'compaction'], {
        description: 'Default: `message`; `item_reference` for an item with only an `id`.',
      }),
    ),
    ...each(text, 'id', 'status', 'phase', 'name', 'arguments', 'encrypted_content'),
    role: maybe(Type.Enum(['system', 'developer', 'user', 'assistant'])),
    content: maybe(Content),
    call_id: maybe(Type.String({ minLength: 1, maxLength: 256 })),
    output: maybe(Content),
  },
)

const FunctionTool = Type.Object({
  type: Type.String({ description: '`function`; other types are refused with 400, because the agent has its own tools.' }),
  name: maybe(clientToolName),
  description: text,
  parameters: maybe(Type.Object({}, { description: 'JSON Schema of the arguments.' })),
  strict: maybe(Type.Boolean()),
})

const Choice = Type.Object({ type: Type.String(), name: text })

const Format = Type.Object({
  type: Type.Enum(['text', 'json_object', 'json_schema']),
  ...each(text, 'name', 'description'),
  schema: maybe(Type.Object({})),
  strict: maybe(Type.Boolean()),
})

const Id = Type.String({ minLength: 1, maxLength: 200 })

export const Metadata = maybe(
  Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 512 }), {
    maxProperties: 16,
    description: 'Up to 16 texts of at most 512 characters.',
  }),
)

export const ResponseBody = object(
  'A parameter without an effect here is refused with 400; one that the service does not know is ignored where `openai.unknown_parameters` in agent.yaml is `ignore`.',
  {
    model: Type.String({ minLength: 1, description: 'The id of the agent, as listed by /v1/models.' }),
    input: Type.Union([Type.String(), Type.Array(InputItem, { minItems: 1, maxItems })]),
    instructions: maybe(Type.String({ description: 'Added to the instructions of the agent, for this response only.' })),
    previous_response_id: maybe(
      Type.String({
        ...Id,
        description:
          'Continues the conversation of an earlier response. A response that is not the last one starts a branch of its conversation.',
      }),
    ),
    conversation: maybe(
      Type.Union([Id, Type.Object({ id: Id })], { description: 'The conversation of the response, instead of `previous_response_id`.' }),
    ),
    store: maybe(
      Type.Boolean({
        description:
          'Default true. With `false`, the response cannot be read or continued later: its run is in no list, and is removed soon after the end, with its session unless the request names the session.',
      }),
    ),
    background: maybe(
      Type.Boolean({ description: 'Answers at once with the status `queued`; `GET /v1/responses/{response_id}` has the result.' }),
    ),
    stream: maybe(Type.Boolean()),
    stream_options: maybe(Type.Object({ include_obfuscation: maybe(Type.Boolean()) })),
    metadata: Metadata,
    include: maybe(Type.Array(Type.String(), { maxItems: 20 })),
    tools: maybe(Type.Array(FunctionTool, { maxItems: 128 })),
    tool_choice: maybe(
      Type.Union([Type.Enum(['auto', 'none', 'required']), Choice], {
        description: 'About the tools of the request; the agent always has its own.',
      }),
    ),
    parallel_tool_calls: maybe(Type.Boolean()),
    text: maybe(Type.Object({ format: maybe(Format), verbosity: maybe(Verbosity) })),
    reasoning: maybe(Reasoning),
    ...sampling,
    max_output_tokens: maybe(Type.Integer({ minimum: 1 })),
    ...each(text, 'user', 'safety_identifier', 'prompt_cache_key', 'truncation', 'service_tier'),
  },
)

/** A conversation that is compacted. */
export const CompactBody = object('The conversation: `input`, behind the messages up to `previous_response_id`.', {
  model: ResponseBody.properties.model,
  input: maybe(ResponseBody.properties.input),
  previous_response_id: ResponseBody.properties.previous_response_id,
  ...each(text, 'prompt_cache_key', 'service_tier'),
})

export type CompactBody = Static<typeof CompactBody>

/** A request whose tokens are counted: no field is required. */
export const CountedBody = object('The parameters of `POST /v1/responses`, each of them optional.', {
  ...ResponseBody.properties,
  model: maybe(ResponseBody.properties.model),
  input: maybe(ResponseBody.properties.input),
})

export const InputTokens = Type.Object({ object: Type.Enum(['response.input_tokens']), input_tokens: Type.Integer({ minimum: 0 }) })

export type CountedBody = Static<typeof CountedBody>
export type ResponseBody = Static<typeof ResponseBody>
export type InputItem = Static<typeof InputItem>
export type ContentPart = Static<typeof Part>

const tokens = Type.Integer({ minimum: 0 })
const Fields = Type.Object({}, { additionalProperties: true })

export const Item = Type.Object(
  { id: Type.String(), type: Type.String({ description: '`message`, `function_call`, `function_call_output` or `reasoning`.' }) },
  { additionalProperties: true, description: 'An item as OpenAI’s API describes it; `type` decides on the other fields.' },
)

const Usage = Type.Object({
  ...each(tokens, 'input_tokens', 'output_tokens', 'total_tokens'),
  input_tokens_details: Type.Object(each(tokens, 'cached_tokens', 'cache_write_tokens')),
  output_tokens_details: Type.Object(each(tokens, 'reasoning_tokens')),
})

export const Compaction = Type.Object({
  id: Type.String(),
  object: Type.Enum(['response.compaction']),
  created_at: Type.Integer({ description: 'Epoch seconds.' }),
  output: Type.Array(Item, { description: 'The user and system messages, then one item of type `compaction`.' }),
  usage: Usage,
})

const maybeText = orNull(Type.String())

export const ResponseReply = Type.Object({
  id: Type.String({ description: '`resp_<request id>`' }),
  object: Type.Enum(['response']),
  created_at: Type.Integer({ description: 'Epoch seconds.' }),
  status: Type.Enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
  error: orNull(Type.Object(each(Type.String(), 'code', 'message'))),
  incomplete_details: orNull(
    Type.Object({ reason: Type.Enum(['max_output_tokens', 'content_filter', 'budget_exceeded', 'approval_required']) }),
  ),
  metadata: Type.Record(Type.String(), Type.String()),
  conversation: orNull(Type.Object({ id: Type.String() })),
  output: Type.Array(Item),
  usage: orNull(Usage),
  tools: Type.Array(Fields),
  tool_choice: Type.Union([Type.String(), Fields]),
  max_tool_calls: Type.Null(),
  text: Fields,
  reasoning: orNull(Fields),
  ...each(maybeText, 'instructions', 'previous_response_id', 'user', 'safety_identifier', 'prompt_cache_key'),
  ...each(Type.Boolean(), 'background', 'parallel_tool_calls', 'store'),
  ...each(Type.Number(), 'temperature', 'top_p', 'presence_penalty', 'frequency_penalty'),
  ...each(orNull(Type.Integer()), 'completed_at', 'max_output_tokens'),
  ...each(Type.String(), 'model', 'service_tier'),
  top_logprobs: Type.Integer(),
  truncation: Type.Enum(['auto']),
  ...waitingFields,
  ...artifactFields,
})

export const ResponseEvent = Type.Object(
  { type: Type.String({ description: 'The name of the event, such as `response.output_text.delta`.' }), sequence_number: Type.Integer() },
  { additionalProperties: true, description: 'An event of OpenAI’s API; `type` decides on the other fields.' },
)

export const Deleted = Type.Object({ id: Type.String(), object: Type.String(), deleted: Type.Boolean() })

export const ItemList = listOf(Item)
