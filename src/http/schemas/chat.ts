import { namedObject, ErrorReply, maxListed, maybe, optionalText, orNull } from './shared.ts'
import { Type } from 'typebox'
import type { DataFilter } from '../../agent/tool.ts'
import { hintLimits } from '../../runs/intake/checks.ts'
import { schemaLimits } from '../../json/schema/answer-schema.ts'
import { reasoningEfforts } from '../../agent/model.ts'
import { interruptedType, callbackTypes } from '../../runs/callbacks/callbacks.ts'
import type { EndReason, TextLabel } from '../../agent/events.ts'

/** Most messages of a request. The size limit of the body alone would admit millions. */
const maxMessages = 2000

const maxName = 2048

const maxAddress = 8192

export const DataFilterHint = namedObject('DataFilterHint', {
  tool_name: Type.String({ minLength: 1, maxLength: hintLimits.nameCharacters }),
  filter_key: Type.String({ minLength: 1, maxLength: hintLimits.keyCharacters }),
  filter_type: Type.Enum(['equals', 'not_equals', 'in', 'contains']),
  filter_value: Type.String({
    maxLength: hintLimits.valueCharacters,
    description: `The value to compare with. For \`in\`, values separated by commas: at most ${hintLimits.listedValues} in all hints of a request.`,
  }),
})

export const DataFilterHints = maybe(
  Type.Array(DataFilterHint, { maxItems: hintLimits.hints }),
  'Filters on the data that tools may read. They are enforced.',
)

const Image = Type.Object({ content: Type.String(), type: Type.Enum(['base64', 'file_path']) })

/** Most tools that a client brings; the limit of OpenAI's API. */
export const maxClientTools = 128

/** A name that every provider of models accepts. */
export const clientToolName = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'A name that no tool of the agent has.' })

export const ClientTool = namedObject('ClientTool', 'A tool of the client: the model may call it, and the client runs the call.', {
  name: clientToolName,
  description: maybe(Type.String({ maxLength: 16_384, description: 'What the tool does, for the model.' })),
  schema: maybe(Type.Object({}, { description: 'JSON Schema of the input, of type object. Default: no parameters.' })),
})

export const ChatBody = namedObject('ChatRequest', 'A chat. Fields that are not listed are ignored.', {
  messages: Type.Array(Type.Object({ role: Type.Enum(['user', 'human', 'assistant', 'ai', 'system']), content: Type.String() }), {
    minItems: 1,
    maxItems: maxMessages,
    description: 'The question as the last message, `{role: "user", content}`. Messages before it are earlier turns.',
  }),
  data_filter_hints: DataFilterHints,
  auto_memory_retain: maybe(Type.Boolean(), 'Whether facts that the message states are kept as memories. Default: false.'),
  context_files: maybe(
    Type.Array(Type.String(), { maxItems: maxListed }),
    'Files that the answer is about: paths under `FILES_ROOT`, and ids of uploaded files (`POST /v1/files`). A model that reads PDF, audio or videos gets such files themselves.',
  ),
  images: maybe(Type.Array(Image, { description: 'At most 5 images; more are refused with 400.' })),
  response_schema: maybe(
    Type.Record(Type.String(), Type.Unknown()),
    `JSON Schema that the answer fits: at most ${schemaLimits.bytes} bytes, ${schemaLimits.properties} properties and ${schemaLimits.depth} levels. \`null\`: any text, whatever agent.yaml says. Default: \`response_schema\` of agent.yaml.`,
  ),
  client_tools: maybe(
    Type.Array(ClientTool, { maxItems: maxClientTools }),
    'Tools that the client runs. A call interrupts the run: `client_tool_calls` of the answer lists the calls, and the client sends each output to `POST /core/v1/runs/{request_id}/approvals`.',
  ),
  reasoning_effort: maybe(
    Type.Enum([...reasoningEfforts]),
    'How much the model thinks before it answers, in this run. Default: as agent.yaml and the provider decide.',
  ),
  session_id: maybe(
    Type.String({ description: 'The session id, when the header session-id is absent. It has the same form as the header.' }),
  ),
  stream: Type.Optional(Type.Unknown({ description: 'Ignored.' })),
  on_disconnect: maybe(
    Type.Enum(['cancel', 'continue']),
    'What becomes of the run when its client disconnects and does not come back. Default: cancel.',
  ),
  on_busy: maybe(
    Type.Enum(['queue', 'reject', 'steer', 'cancel_running']),
    'What the chat does while the session has a run: wait for its end (`queue`, the default), be refused with 409 `SessionBusy` (`reject`), become a message to the run (`steer`: the reply has a `message_id`, and the text is all that is sent), or cancel the run first (`cancel_running`).',
  ),
})

export type ChatBody = Type.Static<typeof ChatBody>

/** The reply to a chat with `on_busy: steer` whose session had a run. */
export const SteeredChat = namedObject('SteeredChat', 'The chat has become a message to the run that the session had.', {
  request_id: Type.String({ description: 'The run that reads the message.' }),
  message_id: Type.String({ description: 'The request id of the chat.' }),
  position: Type.Integer({ minimum: 1, description: 'The number of the message in the run.' }),
})

/** A CloudEvents 1.0 envelope (structured mode) around a chat. Unknown attributes are ignored. */
export const AsyncBody = namedObject('AsyncChat', 'A chat as an event. Fields that are not listed are ignored.', {
  specversion: Type.Enum(['1.0']),
  type: Type.Enum(['ai.service.agent.chain']),
  source: Type.String({ minLength: 1, maxLength: maxName, description: 'The sender of the event.' }),
  id: Type.String({ minLength: 1, maxLength: maxName, description: 'The id of the event, unique together with `source`.' }),
  time: maybe(Type.String({ maxLength: maxName })),
  data: Type.Object({
    ...Type.Omit(ChatBody, ['on_disconnect']).properties,
    callback_url: maybe(Type.String({ maxLength: maxAddress, description: 'An http or https URL that receives the result.' })),
    callback_events: maybe(
      Type.Array(Type.Enum([...callbackTypes]), { maxItems: callbackTypes.length }),
      'Event types that the callback receives. The end of the run is always sent; `ai.service.agent.chain.interrupted` adds each time that calls wait for approval or for the client.',
    ),
  }),
})

export type AsyncBody = Type.Static<typeof AsyncBody>

export const Usage = namedObject('Usage', 'The usage of a model or a tool.', {
  costAttribute: Type.String({ description: 'The name of the model, or `tool:<name>`.' }),
  usage: Type.Number({ description: 'The amount, in `unit`.' }),
  unit: Type.String({ description: '`tokens` and `USD` of a model (USD where agent.yaml has `prices`), `seconds` of a tool.' }),
  details: Type.Optional(
    Type.Record(Type.String(), Type.Number(), {
      description: 'The tokens of a model: `input`, `output`, `cached_input`, `cache_write` (absent for none), `reasoning`.',
    }),
  ),
})

export const Step = namedObject('IntermediateStep', 'A step of a run: a tool call, a task of a sub-agent, planning or reasoning.', {
  tool: Type.String({ description: 'The name of the tool.' }),
  tool_input: Type.Unknown({ description: 'The input of the call.' }),
  log: Type.String({ description: 'What the tool wrote while it ran, and how it ended.' }),
  type: Type.Enum(['tool_call', 'sub_agent_call', 'planning', 'reasoning'], { description: 'The kind of the step.' }),
  output: Type.Unknown({ description: 'The result, or `{error}`.' }),
  status: Type.Enum(['success', 'error'], { description: 'Whether the call succeeded.' }),
  execution_time: Type.Number({ description: 'Seconds.' }),
  started_at: Type.String({ format: 'date-time', description: 'When the step began.' }),
  sub_agent: optionalText('The sub-agent that took the step; absent for steps of the agent itself.'),
})

export const GeneratedArtifact = namedObject('GeneratedArtifact', 'A file that a tool or a model made.', {
  artifact_id: Type.String(),
  file_name: Type.String(),
  file_type: Type.String({ description: 'MIME type.' }),
  size: Type.Integer({ description: 'Bytes.' }),
  sha256: Type.String(),
  tool: Type.String(),
  created_at: Type.String({ format: 'date-time' }),
  download_url: optionalText(
    'A URL that works without a key until `expires_at`. Absent without the permission `artifacts.read`, and in sessions.',
  ),
  expires_at: Type.Optional(Type.String({ format: 'date-time', description: 'When `download_url` stops working.' })),
})

/** The files of an answer. */
const AnswerFiles = Type.Array(GeneratedArtifact, {
  description: 'Files that the tools and the models of the run made, in the order of creation.',
})

const offset = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }))

/** What belongs to an answer beside its text. */
export const AdditionalContext = namedObject('AdditionalContext', 'Thoughts, plans or citations of an answer.', {
  context_type: Type.Enum(['reasoning', 'planning', 'citations']),
  items: Type.Array(
    Type.Object({
      content: Type.String({ description: 'The text. Of a citation: the quoted text of the document.' }),
      file: optionalText(
        'Only of a citation, as all fields below: the file, the name of the document, or the title or the host of a web page.',
      ),
      url: optionalText('The http(s) address of a web page that the provider of the model names as a source.'),
      title: optionalText('The title of the web page.'),
      document_id: optionalText('The id of an uploaded document.'),
      heading: optionalText('The headings above the quote; empty for none.'),
      page: Type.Optional(Type.Integer({ minimum: 1, description: 'The page or slide, where the format has pages.' })),
      start: offset('The first character of the quote in the text of the document.'),
      end: offset('The character behind the quote.'),
      answer_start: offset('The first character of the part of the answer that the quote supports.'),
      answer_end: offset('The character behind that part.'),
      tool: optionalText('The tool that found the quote; `model` where the model names a source without one.'),
    }),
  ),
})

const Citations = Type.Optional(
  Type.Array(AdditionalContext, { description: 'The citations of the answer, as `context_type` `citations`; absent for none.' }),
)

export const ChainAnswer = namedObject('ChainAnswer', {
  body: Type.Object({
    input: Type.String(),
    output: Type.String(),
    structured_output: Type.Optional(
      Type.Unknown({ description: 'The value of `output`, where the answer has a schema; absent otherwise.' }),
    ),
    intermediate_steps: Type.Array(Step),
    usage: Type.Array(Usage),
    generated_artifacts: AnswerFiles,
    additional_context: Citations,
  }),
})

/** Why containment holds a call. */
export const holdFields = {
  reason: Type.Optional(
    Type.Enum(['untrusted_content'], { description: 'Present on a call that waits because the model was shown text of strangers.' }),
  ),
  sources: Type.Optional(
    Type.Array(Type.Object({ tool: Type.String(), tool_call_id: orNull(Type.String()), host: Type.Optional(Type.String()) }), {
      description: 'Where that text came from. `tool_call_id` is null for a summary, memories, uploads and descriptions of tools.',
    }),
  ),
}

/** The tool calls of an interrupted run that wait for a decision. */
export const ApprovalRequired = namedObject('ApprovalRequired', 'The tool calls that wait for a decision.', {
  request_id: Type.String({ description: 'The id of the run.' }),
  calls: Type.Array(Type.Object({ tool_call_id: Type.String(), tool: Type.String(), tool_input: Type.Unknown(), ...holdFields }), {
    description: 'The calls: `tool_call_id`, `tool` and `tool_input` of each, and why `containment` holds the call.',
  }),
})

/** The budget of an interrupted run that is used up. */
export const BudgetRequired = namedObject('BudgetRequired', 'The budget that is used up; the run goes on when its limit is raised.', {
  request_id: Type.String({ description: 'The id of the run.' }),
  budget: Type.String({ description: 'The name of the budget.' }),
  needed: Type.Object(
    { usd: Type.Optional(Type.Number()), tokens: Type.Optional(Type.Integer()) },
    { description: 'What the next model call needs at least, of what the budget limits.' },
  ),
  resets_at: Type.Optional(
    Type.String({ format: 'date-time', description: 'When the budget is whole again. Absent for the budget of a run or session.' }),
  ),
})

/** The event of an attempt that did not report the end of a run. */
export const InterruptedEvent = Type.Enum([interruptedType], {
  description: 'Present on attempts that reported an interruption of the run.',
})

/** The calls of an interrupted run that its client runs. */
export const ClientToolCalls = namedObject(
  'ClientToolCalls',
  'The calls of client tools that wait for their output, which the client sends to `POST /core/v1/runs/{request_id}/approvals`.',
  ApprovalRequired.properties,
)

/** What an interrupted run waits for: at least one of the fields is present. */
export const waitingFields = {
  approval_required: Type.Optional(ApprovalRequired),
  budget_required: Type.Optional(BudgetRequired),
  client_tool_calls: Type.Optional(ClientToolCalls),
}

/** The reply to a chat with tool calls that wait for approval. */
export const ApprovalAnswer = namedObject(
  'ApprovalAnswer',
  'Tool calls wait for approval. The body is the answer so far; after the decisions, the same request id returns the final answer.',
  { ...ChainAnswer.properties, ...waitingFields, approval_required: ApprovalRequired },
)

/** The reply to a chat whose budget is used up, without calls that wait for approval. */
export const BudgetAnswer = namedObject(
  'BudgetAnswer',
  'A budget is used up. The body is the answer so far; when the limit is raised, the same request id returns the final answer.',
  { ...ChainAnswer.properties, budget_required: BudgetRequired, client_tool_calls: waitingFields.client_tool_calls },
)

/** The reply to a chat with calls of client tools, and none that waits for approval. */
export const ClientToolAnswer = namedObject(
  'ClientToolAnswer',
  'Calls of client tools wait for their output. The body is the answer so far; after the outputs, the same request id returns the final answer.',
  { ...ChainAnswer.properties, client_tool_calls: ClientToolCalls },
)

/** The values of labels in stream chunks, and what each means. */

/** `agent_step`. The names in brackets stand for the names of tools and sub-agents. */
export const agentSteps = {
  answer: 'A piece of the answer; also the last chunk, whose token is empty.',
  reasoning: 'A piece of what a reasoning model thinks before it answers.',
  planning: 'A piece of the plan, or of the text of its steps, with `workflow_type: plan_execute`.',
  'tool:<name>': 'A tool call, with an empty token: one chunk when the call starts, one with `step` when it ends.',
  'sub_agent:<name>': 'A task of a sub-agent, likewise: one chunk when it starts, one with `step` when it ends.',
  user_message:
    'A message of `POST /core/v1/runs/{request_id}/messages` has reached the run, with an empty token. `user_message` has its `message_id`, `position` and `message`. An answer before it is not the answer any more.',
  retrying:
    "The model's stream broke, or the run resumed after a crash: the answer begins anew. Drop the text of the answer so far. The token is empty.",
} as const satisfies Record<TextLabel | 'retrying' | 'user_message' | 'tool:<name>' | 'sub_agent:<name>', string>

/** `finish_reason`. */
export const finishReasons = {
  null: 'Not the last chunk. The value is the text `"null"`.',
  stop: 'The answer is complete.',
  length: 'The model reached its limit of output tokens; the answer is cut.',
  content_filter: 'The provider of the model stopped the answer.',
  budget_exceeded: 'A budget of the configuration was used up; the answer is the best so far.',
  max_iterations: 'The last of `max_iterations` model calls gave the answer.',
  timeout: 'The run reached `max_execution_time`; the answer is the best so far.',
  cancelled: 'The run was cancelled, or its client went away.',
  tool_calls: 'Calls of client tools wait for their output; `client_tool_calls` lists them. After the outputs, the run goes on.',
  approval_required:
    'Tool calls wait for a decision, which `approval_required` lists, or `budget_required` names a budget that is used up. After the decisions, the run goes on.',
  schema_mismatch: 'The answer does not fit its schema after all repairs; `error.details.output` has the last text.',
  error: 'The run failed; `error` says why.',
} as const satisfies Record<EndReason | 'null' | 'approval_required' | 'tool_calls', string>

/** The `data` of one server-sent event. */
export const StreamChunk = namedObject('StreamChunk', 'The `data` of one server-sent event.', {
  id: Type.String({ description: 'The request id.' }),
  token: Type.String({ description: 'A piece of text; empty on chunks that only report a step or the end.' }),
  agent_step: Type.String({
    description:
      '`planning`, `reasoning`, `tool:<name>`, `sub_agent:<name>`, `user_message`, `retrying` or `answer`. The output is the `answer` tokens after the last chunk with another label.',
  }),
  finish_reason: Type.Enum(Object.keys(finishReasons) as (keyof typeof finishReasons)[], {
    description: 'The text "null" on every chunk except the last.',
  }),
  usage: Type.Array(Usage, { description: 'Empty on every chunk except the last.' }),
  step: Type.Optional(Step),
  user_message: Type.Optional(
    Type.Object(
      { message_id: Type.String(), position: Type.Integer(), message: Type.String() },
      { description: 'The message that has reached the run; only with `agent_step` `user_message`.' },
    ),
  ),
  progress: Type.Optional(
    Type.Object(
      {
        tool_call_id: Type.String(),
        progress: Type.Number(),
        total: Type.Optional(Type.Number()),
        message: Type.Optional(Type.String({ description: 'A text of the tool, of at most 200 characters: text of a stranger.' })),
      },
      {
        description: 'How far a running call is; only in server-sent events named `progress`, which repeat the number of the event before.',
      },
    ),
  ),
  generated_artifacts: Type.Optional(
    Type.Array(GeneratedArtifact, { description: 'Files of the run; only on the last chunk, and absent for none.' }),
  ),
  additional_context: Citations,
  ...waitingFields,
  error: Type.Optional(ErrorReply),
})

export const eventStream = {
  description:
    'Server-sent events, described by the schema of one `data`. An event is a line `id: <request id>:<number>`, a line `data: <JSON>` and an empty line. To resume, send the last `id` as `last-event-id` to `GET /core/v1/runs/{request_id}/stream`, or repeat the request with it. While a tool runs, an event may begin with a line `event: progress`: a chunk with `progress`, which repeats the number of the event before, is sent once to readers that are live, and is not part of the log. Skip events with a name that you do not know. Lines that begin with `:` are comments, which keep a silent connection open.',
  content: { 'text/event-stream': { schema: StreamChunk } },
}

/** The roles of messages in a request, and what the service calls each. */
export const chatRoles = { user: 'user', human: 'user', assistant: 'assistant', ai: 'assistant', system: 'system' } as const

/** Data filter hints as a run keeps the hints. */
export function toFilters(hints: ChatBody['data_filter_hints']): DataFilter[] {
  return (hints ?? []).map((hint) => ({
    tool: hint.tool_name,
    key: hint.filter_key,
    type: hint.filter_type,
    value: hint.filter_value,
  }))
}
