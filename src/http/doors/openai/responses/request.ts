import { Type, type Static } from 'typebox'
import { clientToolName } from '../../../resources/schemas.ts'
import { maybe, Reasoning, Verbosity } from '../parameters.ts'

/** Request schema of responses. Parameters are checked in `parameters.ts`. */

const maxItems = 2000

const text = maybe(Type.String())
const Status = maybe(Type.String())

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
  input_audio: maybe(
    Type.Object(
      { data: maybe(Type.String({ description: 'The bytes in base64.' })), format: maybe(Type.String({ maxLength: 20 })) },
      { description: 'Audio, for a model that hears audio. The bytes tell the format.' },
    ),
  ),
})

const Content = Type.Union([Type.String(), Type.Array(Part, { maxItems })])

/** An input item. Which fields are required depends on `type`; `toItems` checks. */
export const Item = Type.Object(
  {
    type: maybe(
      Type.Enum(['message', 'item_reference', 'reasoning', 'function_call', 'function_call_output'], {
        description: 'Default: `message`; `item_reference` for an item with only an `id`.',
      }),
    ),
    id: text,
    status: Status,
    role: maybe(Type.Enum(['system', 'developer', 'user', 'assistant'])),
    content: maybe(Content),
    phase: text,
    call_id: maybe(Type.String({ minLength: 1, maxLength: 256 })),
    name: text,
    arguments: text,
    output: maybe(Content),
  },
  {
    description:
      'A message, a call of a function tool, its output, or a reference to an item of an earlier response. Reasoning is ignored.',
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
  name: text,
  description: text,
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

export const ResponseBody = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'The id of the agent, as listed by /v1/models.' }),
    input: Type.Union([Type.String(), Type.Array(Item, { minItems: 1, maxItems })]),
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
    temperature: maybe(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: maybe(Type.Number({ minimum: 0, maximum: 1 })),
    presence_penalty: maybe(Type.Number({ minimum: -2, maximum: 2 })),
    frequency_penalty: maybe(Type.Number({ minimum: -2, maximum: 2 })),
    max_output_tokens: maybe(Type.Integer({ minimum: 1 })),
    user: text,
    safety_identifier: text,
    prompt_cache_key: text,
    truncation: text,
    service_tier: text,
  },
  {
    description:
      'A parameter without an effect here is refused with 400; one that the service does not know is ignored where `openai.unknown_parameters` in agent.yaml is `ignore`.',
  },
)

export type ResponseBody = Static<typeof ResponseBody>
export type InputItem = Static<typeof Item>
export type ContentPart = Static<typeof Part>
