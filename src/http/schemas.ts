import { Type } from 'typebox'
import { hintLimits } from '../runs/intake/hints.ts'
import { chatExample, eventExample } from './examples.ts'
import { idPattern } from './request-headers.ts'

/** Schemas that several routes share. */

export const Id = Type.String({ pattern: idPattern })

export const IdHeaders = Type.Object({ 'session-id': Type.Optional(Id), 'request-id': Type.Optional(Id) })

/** An optional field; `null` counts as absent. */
function maybe<T extends ReturnType<typeof Type.String>>(schema: T) {
  return Type.Optional(Type.Union([schema, Type.Null()]))
}

/** Most messages of a request. The size limit of the body alone would admit millions. */
const maxMessages = 2000
export const maxListed = 100

/** `limit` of a page. */
export const pageLimit = Type.Integer({ minimum: 1, maximum: maxListed, default: 45 })

/** `before` of lists whose `offset` is opaque. */
export const Offset = Type.Optional(
  Type.String({ minLength: 1, maxLength: 8192, description: 'The `offset` of the page before: this page begins after that page.' }),
)

const maxName = 2048
const maxAddress = 8192

export const DataFilterHint = Type.Object({
  tool_name: Type.String({ minLength: 1, maxLength: hintLimits.nameCharacters }),
  filter_key: Type.String({ minLength: 1, maxLength: hintLimits.keyCharacters }),
  filter_type: Type.Enum(['equals', 'not_equals', 'in', 'contains']),
  filter_value: Type.String({
    maxLength: hintLimits.valueCharacters,
    description: `The value to compare with. For \`in\`, values separated by commas: at most ${hintLimits.listedValues} in all hints of a request.`,
  }),
})

export const DataFilterHints = Type.Optional(Type.Union([Type.Array(DataFilterHint, { maxItems: hintLimits.hints }), Type.Null()]))

const Image = Type.Object({ content: Type.String(), type: Type.Enum(['base64', 'file_path']) })

export const ChatBody = Type.Object(
  {
    messages: Type.Array(Type.Object({ role: Type.Enum(['user', 'human', 'assistant', 'ai', 'system']), content: Type.String() }), {
      minItems: 1,
      maxItems: maxMessages,
    }),
    data_filter_hints: DataFilterHints,
    auto_memory_retain: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
    context_files: Type.Optional(Type.Union([Type.Array(Type.String(), { maxItems: maxListed }), Type.Null()])),
    images: Type.Optional(Type.Union([Type.Array(Image, { description: 'At most 5 images; more are refused with 400.' }), Type.Null()])),
    session_id: maybe(
      Type.String({ description: 'The session id, when the header session-id is absent. It has the same form as the header.' }),
    ),
    stream: Type.Optional(Type.Unknown({ description: 'Ignored.' })),
    on_disconnect: Type.Optional(Type.Union([Type.Enum(['cancel', 'continue']), Type.Null()])),
  },
  { description: 'A chat. Fields that are not listed are ignored.', example: chatExample },
)

export type ChatBody = Type.Static<typeof ChatBody>

/** A CloudEvents 1.0 envelope (structured mode) around a chat. Unknown attributes are ignored. */
export const AsyncBody = Type.Object(
  {
    specversion: Type.Enum(['1.0']),
    type: Type.Enum(['ai.service.agent.chain']),
    source: Type.String({ minLength: 1, maxLength: maxName, description: 'The sender of the event.' }),
    id: Type.String({ minLength: 1, maxLength: maxName, description: 'The id of the event, unique together with `source`.' }),
    time: maybe(Type.String({ maxLength: maxName })),
    data: Type.Object({
      ...Type.Omit(ChatBody, ['on_disconnect']).properties,
      callback_url: maybe(Type.String({ maxLength: maxAddress, description: 'An http or https URL that receives the result.' })),
    }),
  },
  { description: 'A chat as an event. Fields that are not listed are ignored.', example: eventExample },
)

export type AsyncBody = Type.Static<typeof AsyncBody>

export const Usage = Type.Object({
  costAttribute: Type.String(),
  usage: Type.Number(),
  unit: Type.String({ description: 'tokens, USD or seconds' }),
  details: Type.Optional(Type.Record(Type.String(), Type.Number())),
})

export const Step = Type.Object({
  tool: Type.String(),
  tool_input: Type.Unknown(),
  log: Type.String(),
  type: Type.Enum(['tool_call', 'sub_agent_call', 'planning', 'reasoning']),
  output: Type.Unknown(),
  status: Type.Enum(['success', 'error']),
  execution_time: Type.Number({ description: 'Seconds.' }),
  started_at: Type.String({ format: 'date-time' }),
  sub_agent: Type.Optional(Type.String({ description: 'The sub-agent that took the step; absent for steps of the agent itself.' })),
})

/** A file that a tool made. */
export const GeneratedArtifact = Type.Object({
  artifact_id: Type.String(),
  file_name: Type.String(),
  file_type: Type.String({ description: 'MIME type.' }),
  size: Type.Integer({ description: 'Bytes.' }),
  sha256: Type.String(),
  tool: Type.String(),
  created_at: Type.String({ format: 'date-time' }),
})

export const ChainAnswer = Type.Object({
  body: Type.Object({
    input: Type.String(),
    output: Type.String(),
    intermediate_steps: Type.Array(Step),
    usage: Type.Array(Usage),
  }),
})

/** The tool calls of an interrupted run that wait for a decision. */
export const ApprovalRequired = Type.Object({
  request_id: Type.String(),
  calls: Type.Array(Type.Object({ tool_call_id: Type.String(), tool: Type.String(), tool_input: Type.Unknown() })),
})

/** The reply to a chat with tool calls that wait for approval. */
export const ApprovalAnswer = Type.Object(
  { ...ChainAnswer.properties, approval_required: ApprovalRequired },
  {
    description:
      'Tool calls wait for approval. The body is the answer so far; after the decisions, the same request id returns the final answer.',
  },
)

const FaultReply = Type.Object({
  loc: Type.Array(Type.Union([Type.String(), Type.Integer()])),
  msg: Type.String(),
  type: Type.String(),
  line: Type.Optional(Type.Integer({ description: 'The line in a YAML text that was sent, from 1.' })),
})

export const ErrorReply = Type.Object(
  {
    body: Type.String(),
    status_code: Type.Integer(),
    details: Type.Optional(
      Type.Object({
        error_type: Type.String(),
        errors: Type.Optional(Type.Array(FaultReply, { description: 'The faults of a ValidationError that has no `detail`.' })),
      }),
    ),
  },
  { description: 'An error: a message, the HTTP status and the error type.' },
)

export const ValidationReply = Type.Object(
  { detail: Type.Array(FaultReply) },
  { description: 'The faults of the request, each with its location.' },
)

const finishReasons = ['null', 'stop', 'length', 'content_filter', 'max_iterations', 'timeout', 'cancelled', 'approval_required', 'error']

/** The `data` of one server-sent event. */
export const StreamChunk = Type.Object(
  {
    id: Type.String({ description: 'The request id.' }),
    token: Type.String(),
    agent_step: Type.String({
      description:
        'planning, reasoning, tool:<name>, sub_agent:<name>, retrying or answer. The output is the `answer` tokens after the last chunk with another label.',
    }),
    finish_reason: Type.Enum(finishReasons, { description: 'The text "null" on every chunk except the last.' }),
    usage: Type.Array(Usage, { description: 'Empty on every chunk except the last.' }),
    step: Type.Optional(Step),
    approval_required: Type.Optional(ApprovalRequired),
    error: Type.Optional(ErrorReply),
  },
  { description: 'The `data` of one server-sent event.' },
)

export const eventStream = {
  description:
    'Server-sent events, described by the schema of one `data`. An event is a line `id: <request id>:<number>`, a line `data: <JSON>` and an empty line. To resume, send the last `id` as `last-event-id` to `GET /core/v1/runs/{request_id}/stream`. Lines that begin with `:` are comments, which keep a silent connection open.',
  content: { 'text/event-stream': { schema: StreamChunk } },
}

/** Error replies of every route that needs a key. */
export const refusals = { 401: ErrorReply, 403: ErrorReply, 429: ErrorReply, 500: ErrorReply, 503: ErrorReply }
