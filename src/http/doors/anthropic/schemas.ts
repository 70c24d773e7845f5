import { Type, type TSchema } from 'typebox'
import { clientToolName, maxClientTools, waitingFields } from '../../schemas/chat.ts'
import { artifactFields } from '../openai/replies.ts'
import { each, maybe, namedObject, object, orNull } from '../../schemas/shared.ts'

/** Schemas of Anthropic's Messages API. A parameter has its effect or is refused; unknown parameters as of `/v1/chat/completions`. */

const maxMessages = 2000
const maxBlocks = 2000

const accepted = (description: string) => Type.Optional(Type.Unknown({ description }))

const TextPart = Type.Object({ type: Type.String({ maxLength: 100 }), text: maybe(Type.String()) })

const Source = object('Where an image or a document comes from.', {
  type: Type.String({ maxLength: 100, description: '`base64`, `text`, `content` or `file`; `url` is refused with 400.' }),
  media_type: maybe(Type.String({ maxLength: 200 })),
  data: maybe(Type.String({ description: 'The bytes in base64, or the text of a source `text`.' })),
  file_id: maybe(Type.String({ maxLength: 200, description: 'The id of an uploaded file (`POST /v1/files`).' })),
  content: maybe(Type.Union([Type.String(), Type.Array(TextPart, { maxItems: maxBlocks })])),
})

const block = {
  type: Type.String({
    maxLength: 100,
    description:
      '`text`, `image`, `document`, `search_result`, and `tool_use`, `tool_result`. Thoughts and calls of a provider in messages of the assistant are left out.',
  }),
  text: maybe(Type.String()),
  source: maybe(Type.Union([Source, Type.String({ description: 'The address of a `search_result`.' })])),
  title: maybe(Type.String({ maxLength: 1000, description: 'The name of a document.' })),
  context: maybe(Type.String({ description: 'What a document is about.' })),
  tool_name: maybe(Type.String({ maxLength: 256, description: 'The tool that a `tool_reference` in a `tool_result` has found.' })),
}

const InnerBlock = Type.Object({ ...block, content: maybe(Type.Array(TextPart, { maxItems: maxBlocks })) })

const Block = Type.Object({
  ...block,
  id: maybe(Type.String({ minLength: 1, maxLength: 256, description: 'Of a `tool_use`.' })),
  name: maybe(Type.String({ minLength: 1, maxLength: 256 })),
  input: Type.Optional(Type.Unknown({ description: 'The input of a `tool_use`.' })),
  tool_use_id: maybe(Type.String({ minLength: 1, maxLength: 256, description: 'The call that a `tool_result` answers.' })),
  is_error: maybe(Type.Boolean({ description: 'True where a `tool_result` is the message of an error.' })),
  content: Type.Optional(Type.Union([Type.String(), Type.Array(InnerBlock, { maxItems: maxBlocks }), Type.Null(), Type.Object({})])),
})

export type Block = Type.Static<typeof Block>
export type InnerBlock = Type.Static<typeof InnerBlock>

const Message = Type.Object({
  role: Type.Enum(['user', 'assistant', 'system']),
  content: Type.Union([Type.String(), Type.Array(Block, { maxItems: maxBlocks })]),
})

export type SentMessage = Type.Static<typeof Message>

const Tool = object('A tool that the client runs.', {
  type: maybe(Type.String({ maxLength: 100, description: '`custom`; tools that Anthropic defines are refused with 400.' })),
  name: clientToolName,
  description: maybe(Type.String({ maxLength: 16_384 })),
  input_schema: maybe(Type.Object({}, { description: 'JSON Schema of the input.' })),
})

export const Thinking = object('Whether the answer shows what the model thinks, and how much it may think.', {
  type: Type.Enum(['enabled', 'adaptive', 'disabled', 'between_tools']),
  budget_tokens: maybe(Type.Integer({ minimum: 1, description: 'The most tokens of thought of one model call.' })),
  display: maybe(Type.Enum(['summarized', 'updates', 'omitted'], { description: '`omitted`: the answer has no thoughts.' })),
})

const Format = Type.Object({ type: Type.Enum(['json_schema']), schema: Type.Record(Type.String(), Type.Unknown()) })

export const OutputConfig = object('The form of the answer, and the effort for it.', {
  effort: maybe(Type.Enum(['low', 'medium', 'high', 'xhigh', 'max'])),
  format: maybe(Format),
})

/** What older clients of LangChain send for a parameter without a value. */
export const unset = -1

/** What counts as input. */
const input = {
  model: Type.String({ minLength: 1, description: 'The id of the agent, as listed by /v1/models.' }),
  messages: Type.Array(Message, { minItems: 1, maxItems: maxMessages }),
  system: maybe(
    Type.Union([Type.String(), Type.Array(TextPart, { maxItems: maxBlocks })], { description: 'Instructions for this request alone.' }),
  ),
  tools: maybe(Type.Array(Tool, { maxItems: maxClientTools, description: 'Tools that the client runs, beside those of the agent.' })),
  tool_choice: maybe(
    object('The use of `tools`. The agent keeps its own tools with `none`; `any` and `tool` demand a call of one of `tools`.', {
      type: Type.Enum(['auto', 'any', 'tool', 'none']),
      name: maybe(Type.String({ maxLength: 256 })),
      disable_parallel_tool_use: maybe(Type.Boolean()),
    }),
  ),
  thinking: maybe(Thinking),
  output_config: maybe(OutputConfig),
  output_format: maybe(Format, 'The same as `output_config.format`.'),
  cache_control: accepted('No effect: the provider of the model decides on its cache.'),
  context_management: accepted('No effect: the service keeps the window of the model.'),
  thread: accepted('Refused with 400, after which SDKs send the whole conversation.'),
  speed: accepted('Only `standard`.'),
  mcp_servers: accepted('Only an empty list: the agent uses its own tools.'),
  ...each(accepted('No effect: the access key names the caller.'), 'user_profile_id', 'workspace_id'),
}

const notListed = 'Parameters that are not listed are refused with 400, unless `openai.unknown_parameters` in agent.yaml is `ignore`.'

export const CountBody = object(`A request whose tokens are counted. ${notListed}`, input)

export const MessagesBody = object(`A chat in the form of Anthropic's Messages API. ${notListed}`, {
  ...input,
  max_tokens: Type.Integer({ minimum: 1, description: 'The most tokens of one model call; `max_output_tokens` of agent.yaml if less.' }),
  stream: maybe(Type.Boolean()),
  temperature: maybe(Type.Number({ minimum: 0, maximum: 1 })),
  top_p: maybe(Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Enum([unset])])),
  top_k: accepted('A value other than -1 is refused with 400.'),
  stop_sequences: maybe(Type.Array(Type.String({ minLength: 1, maxLength: 1000 }), { maxItems: 4 })),
  metadata: accepted('No effect: the access key names the caller.'),
  diagnostics: accepted('No effect.'),
  service_tier: accepted('Only `auto` and `standard_only`.'),
  container: accepted('Refused with 400: the agent uses its own tools.'),
  inference_geo: accepted('Refused with 400.'),
})

export type CountBody = Type.Static<typeof CountBody>
export type MessagesBody = Type.Static<typeof MessagesBody>

const tokens = Type.Integer({ minimum: 0 })
const text = Type.String()
const none = Type.Null()

const Citation = Type.Object({
  type: Type.Enum(['web_search_result_location']),
  ...each(text, 'url', 'title'),
  ...each(Type.Enum(['']), 'cited_text', 'encrypted_index'),
})

const Content = Type.Union([
  Type.Object({ type: Type.Enum(['text']), text, citations: Type.Optional(Type.Array(Citation)) }),
  Type.Object({
    type: Type.Enum(['thinking']),
    thinking: text,
    signature: Type.String({ description: 'Not empty; the service does not read what a client sends back.' }),
  }),
  Type.Object({
    type: Type.Enum(['tool_use']),
    id: Type.String({ description: '`toolu_<tool call id>`' }),
    name: text,
    input: Type.Unknown(),
    caller: Type.Object({ type: Type.Enum(['direct']) }),
  }),
])

const Usage = Type.Object({
  ...each(tokens, 'input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'),
  output_tokens_details: Type.Object({ thinking_tokens: tokens }),
  ...each(none, 'cache_creation', 'server_tool_use', 'service_tier', 'inference_geo', 'speed'),
})

export const MessageReply = namedObject('AnthropicMessage', {
  id: Type.String({ description: '`msg_<request id>`' }),
  type: Type.Enum(['message']),
  role: Type.Enum(['assistant']),
  model: text,
  content: Type.Array(Content),
  stop_reason: Type.Enum(['end_turn', 'max_tokens', 'tool_use', 'refusal']),
  stop_details: orNull(Type.Object({ type: Type.Enum(['refusal']), ...each(none, 'category', 'explanation') })),
  ...each(none, 'stop_sequence', 'container', 'diagnostics'),
  usage: Usage,
  ...waitingFields,
  ...artifactFields,
})

export const StreamEvent = Type.Object(
  {
    type: Type.Enum([
      ...['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop'],
      ...['message_delta', 'message_stop', 'ping', 'error'],
    ]),
    index: Type.Optional(Type.Integer()),
  },
  { additionalProperties: true, description: '`type` decides on the other fields.' },
)

export const TokenCount = Type.Object({ input_tokens: tokens })

const AnthropicErrorReply = namedObject('AnthropicError', 'An error in the shape of Anthropic’s API.', {
  type: Type.Enum(['error']),
  error: Type.Object({
    ...each(text, 'type', 'message'),
    details: Type.Optional(Type.Object({ error_code: Type.String(), unsupported: Type.Array(Type.String()) })),
  }),
  request_id: Type.String(),
})

export function anthropicRefusals(...statuses: number[]): Record<number, TSchema> {
  return Object.fromEntries(statuses.map((status) => [status, AnthropicErrorReply]))
}

/** The agent as a model. */
export const ModelInfo = Type.Object({
  type: Type.Enum(['model']),
  ...each(text, 'id', 'display_name', 'created_at'),
  lifecycle: Type.Enum(['active']),
  ...each(none, 'capabilities', 'deprecated_at', 'line', 'max_input_tokens', 'max_tokens', 'retires_at'),
})

export const ModelPage = Type.Object({ data: Type.Array(ModelInfo), has_more: Type.Boolean(), ...each(text, 'first_id', 'last_id') })
