import { each, object, maybe } from '../../../schemas/shared.ts'
import { Type } from 'typebox'
import { clientToolName, maxClientTools } from '../../../schemas/chat.ts'
import { Effort, InputAudio, Reasoning, sampling, Verbosity } from '../parameters.ts'

/** Request schemas of chat completions. A parameter has its effect or is refused; `parameters.ts` decides on unknown parameters. */

const maxMessages = 2000

/** A parameter that asks for nothing here, or is refused except with such values. */
const accepted = (description: string) => Type.Optional(Type.Unknown({ description }))

const Part = Type.Object({
  type: Type.Enum(['text', 'image_url', 'input_audio', 'file', 'refusal']),
  text: maybe(Type.String()),
  refusal: maybe(Type.String()),
  image_url: maybe(Type.Object({ url: Type.String({ description: 'A data: URL; other URLs are refused with 400.' }) })),
  file: maybe(
    object('A document, an image, audio or a video. A document goes as text to a model that does not read it itself.', {
      file_id: maybe(Type.String({ maxLength: 200, description: 'The id of an uploaded file (`POST /v1/files`).' })),
      file_data: maybe(Type.String({ description: 'The bytes in base64, or as a data: URL, instead of `file_id`.' })),
      filename: maybe(Type.String({ maxLength: 1000, description: 'Required with `file_data`.' })),
    }),
  ),
  input_audio: InputAudio,
})

const ToolCall = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 256 }),
  type: Type.Optional(Type.Enum(['function'])),
  function: Type.Object({ name: Type.String({ minLength: 1, maxLength: 256 }), arguments: Type.String() }),
})

const Message = Type.Object({
  role: Type.Enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: Type.Optional(Type.Union([Type.String(), Type.Array(Part, { maxItems: maxMessages }), Type.Null()])),
  tool_calls: maybe(Type.Array(ToolCall, { maxItems: maxClientTools, description: 'The calls of an assistant message.' })),
  tool_call_id: maybe(Type.String({ maxLength: 256, description: 'The call whose output a tool message has.' })),
  function_call: accepted('Refused with 400: use tool_calls.'),
})

const FunctionTool = Type.Object({
  type: Type.Enum(['function']),
  function: Type.Object({
    name: clientToolName,
    description: maybe(Type.String({ maxLength: 16_384 })),
    parameters: maybe(Type.Object({}, { description: 'JSON Schema of the arguments. Default: no parameters.' })),
    strict: maybe(Type.Boolean({ description: 'Arguments are checked by the schema in any case.' })),
  }),
})

const JsonSchemaFormat = Type.Object({
  name: maybe(Type.String({ description: 'Ignored.' })),
  description: maybe(Type.String({ description: 'What the answer is, for the model.' })),
  schema: Type.Unknown({ description: 'The JSON Schema of the answer, with the limits of `response_schema`.' }),
  strict: maybe(Type.Boolean({ description: 'Ignored: every answer is validated.' })),
})

const NamedTool = Type.Object({ type: Type.Enum(['function']), function: Type.Object({ name: Type.String() }) })

const AllowedTools = Type.Object({
  type: Type.Enum(['allowed_tools']),
  allowed_tools: Type.Object({
    mode: Type.Enum(['auto', 'required']),
    tools: Type.Array(NamedTool, { minItems: 1, maxItems: maxClientTools }),
  }),
})

const modelParameters = {
  ...sampling,
  seed: maybe(Type.Integer()),
  stop: maybe(Type.Union([Type.String({ maxLength: 1000 }), Type.Array(Type.String({ maxLength: 1000 }), { maxItems: 4 })])),
  max_tokens: maybe(Type.Integer({ minimum: 1 })),
  max_completion_tokens: maybe(Type.Integer({ minimum: 1, description: 'The tokens of one model call of the agent.' })),
  reasoning_effort: maybe(Effort),
  reasoning: maybe(Reasoning),
}

export const CompletionBody = object(
  'A chat in the form of OpenAI’s API. Parameters that are not listed are refused with 400, unless `openai.unknown_parameters` in agent.yaml is `ignore`.',
  {
    model: Type.String({ minLength: 1, description: 'The id of the agent, as listed by /v1/models.' }),
    messages: Type.Array(Message, { minItems: 1, maxItems: maxMessages }),
    stream: maybe(Type.Boolean()),
    stream_options: maybe(
      Type.Object({
        include_usage: maybe(Type.Boolean()),
        include_obfuscation: maybe(Type.Literal(false, { description: 'Only false.' })),
      }),
    ),
    tools: maybe(
      Type.Array(FunctionTool, { maxItems: maxClientTools, description: 'Tools that the client runs, beside those of the agent.' }),
    ),
    tool_choice: maybe(
      Type.Union([Type.Enum(['none', 'auto', 'required']), NamedTool, AllowedTools], {
        description:
          'The use of `tools`. The agent keeps its own tools with `none`; `required` and a name demand a call of one of `tools`.',
      }),
    ),
    parallel_tool_calls: maybe(Type.Boolean({ description: 'With false, at most one call at a time.' })),
    ...modelParameters,
    metadata: maybe(
      Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 512 }), {
        maxProperties: 16,
        description: 'Returned with the answer.',
      }),
    ),
    response_format: maybe(
      object('The form of the answer. A streamed answer with a schema comes in one piece, once it is known to fit.', {
        type: Type.String({ description: '`text`, `json_object` or `json_schema`.' }),
        json_schema: Type.Optional(JsonSchemaFormat),
      }),
    ),
    n: accepted('A value other than 1 is refused with 400.'),
    store: accepted('No effect: every run is kept, and read as a run.'),
    logprobs: accepted('`true` is refused with 400.'),
    top_logprobs: accepted('A value other than 0 is refused with 400.'),
    logit_bias: accepted('A value other than `{}` is refused with 400.'),
    modalities: accepted('Only `["text"]`.'),
    service_tier: accepted('Only `auto` and `default`.'),
    verbosity: maybe(Verbosity),
    ...each(accepted('Refused with 400.'), 'audio', 'prediction'),
    web_search_options: accepted('Refused with 400: the agent uses its own tools.'),
    functions: accepted('Refused with 400: use `tools`.'),
    function_call: accepted('Refused with 400: use `tool_choice`.'),
    ...each(accepted('No effect: the access key names the caller.'), 'user', 'safety_identifier'),
    ...each(accepted('No effect: the provider of the model decides on its cache.'), 'prompt_cache_key', 'prompt_cache_retention'),
  },
)

export type CompletionBody = Type.Static<typeof CompletionBody>
export type CompletionMessage = CompletionBody['messages'][number]
