import {
  firstFault,
  isBlank,
  piecesOf,
  sse,
  toolSchemaFault,
  unknownField,
  type Answer,
  type Refusal,
  type Rule,
  type WireProvider,
} from '../wire.ts'

/** Rules and stream that servers with chat completions have in common. */

export interface ChatTraits {
  name: string
  llm: Record<string, unknown>
  basePath?: string
  paths?: RegExp
  /** Fields of an assistant message beyond those of all servers. */
  assistantFields?: readonly string[]
  /** Fields of a request beyond those of all servers. */
  fields?: readonly string[]
  /** How the server words an unknown field at a place; absent: the server ignores unknown fields. */
  unknown?(place: string, field: string): string
  /** Further rules, tried before the common rules. */
  rules?: readonly Rule[]
  /** True for a server that keeps the reasoning to itself. */
  hidesReasoning?: true
  /** Fields of the deltas of the reasoning. */
  toReasoning?(text: string): object
  toCallId?(n: number, index: number): string
  refuse?(message: string): Refusal
  lesson?: RegExp
}

const requestFields = [
  ...['model', 'messages', 'tools', 'tool_choice', 'parallel_tool_calls', 'stream', 'stream_options', 'temperature', 'top_p', 'stop'],
  ...['max_tokens', 'response_format', 'presence_penalty', 'frequency_penalty', 'reasoning_effort', 'user', 'seed'],
]
const messageFields: Record<string, readonly string[]> = {
  system: ['role', 'content', 'name'],
  user: ['role', 'content', 'name'],
  assistant: ['role', 'content', 'tool_calls', 'name'],
  tool: ['role', 'content', 'tool_call_id', 'name'],
}

export function chatProvider(traits: ChatTraits): WireProvider {
  const { name, llm, basePath = '/v1', paths = /^\/v1\/chat\/completions$/, rules = [], lesson } = traits
  const all: Rule[] = [...rules, ...(traits.unknown ? [unknownFields(traits, traits.unknown)] : []), ...commonRules]
  const refuse = traits.refuse ?? ((message) => ({ status: 400, body: { error: { message, type: 'invalid_request_error' } } }))
  return {
    name,
    llm,
    basePath,
    paths,
    contentType: 'text/event-stream',
    ...(lesson && { lesson }),
    check(request) {
      const fault = firstFault(all, request)
      return fault === undefined ? undefined : refuse(fault)
    },
    stream: (answer, n) => streamChat(traits, answer, n),
  }
}

function unknownFields({ assistantFields = [], fields = [] }: ChatTraits, word: NonNullable<ChatTraits['unknown']>): Rule {
  return ({ body }) => {
    const field = unknownField(body, [...requestFields, ...fields])
    if (field !== undefined) return word('', field)
    for (const [index, message] of body.messages.entries()) {
      const own = message.role === 'assistant' ? assistantFields : []
      const extra = unknownField(message, [...(messageFields[message.role] ?? []), ...own])
      if (extra !== undefined) return word(`messages[${index}]`, extra)
    }
    return undefined
  }
}

/** Results stand directly behind their calls, each call has one, and no result is without a call. */
const pairing: Rule = ({ body }) => {
  let open: string[] = []
  for (const message of body.messages) {
    if (message.role === 'tool') {
      if (!open.includes(message.tool_call_id)) {
        return "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
      }
      open = open.filter((id) => id !== message.tool_call_id)
      continue
    }
    if (open.length > 0) break
    open = (message.tool_calls ?? []).map(({ id }: { id: string }) => id)
  }
  if (open.length === 0) return undefined
  return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(', ')}`
}

const contents: Rule = ({ body }) => {
  for (const [index, { role, content, tool_calls: calls }] of body.messages.entries()) {
    if (calls?.length === 0) return `Invalid 'messages[${index}].tool_calls': empty array. Expected an array with minimum length 1.`
    if (role === 'assistant' && calls === undefined && (content === null || content === undefined)) {
      return `Invalid value for 'messages[${index}].content': expected a string, got null.`
    }
    if (role !== 'assistant' && typeof content !== 'string' && !Array.isArray(content)) {
      return `Invalid type for 'messages[${index}].content': expected one of a string or array of objects.`
    }
    for (const call of calls ?? []) {
      if (typeof call.function.arguments !== 'string') return `Invalid type for 'messages[${index}].tool_calls[0].function.arguments'.`
      if (isBlank(call.id) || call.id.length > 64) return `Invalid 'messages[${index}].tool_calls[0].id'.`
    }
  }
  return undefined
}

const tools: Rule = ({ body }) => {
  if (body.tools?.length === 0) return "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array."
  if (body.tools === undefined && body.tool_choice !== undefined) return "'tool_choice' is only allowed when 'tools' are specified."
  for (const [index, { function: offer }] of (body.tools ?? []).entries()) {
    const place = `tools[${index}].function`
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(offer.name)) return `Invalid '${place}.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.`
    const fault = toolSchemaFault(offer.parameters)
    if (fault !== undefined) return `Invalid schema for function '${offer.name}': ${fault}`
    if (offer.strict === true && offer.parameters.additionalProperties !== false) {
      return `Invalid schema for function '${offer.name}': In context=(), 'additionalProperties' is required to be supplied and to be false.`
    }
  }
  return undefined
}

const model: Rule = ({ body }) => (isBlank(body.model) ? 'you must provide a model parameter' : undefined)
const stream: Rule = ({ body }) => (body.stream === true ? undefined : 'This server plays streams only.')

const commonRules: readonly Rule[] = [model, stream, pairing, contents, tools]

function streamChat(traits: ChatTraits, answer: Answer, n: number): Uint8Array[] {
  const { reasoning = '', text = '', calls = [] } = answer
  const { toReasoning = (piece) => ({ reasoning_content: piece }), toCallId = (id, index) => `call_${id}_${index}` } = traits
  const chunk = (delta: object, finish: string | null = null) =>
    sse({ id: `chatcmpl-${n}`, object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })
  const toCall = (call: (typeof calls)[number], index: number) => {
    const head = { index, id: toCallId(n, index), type: 'function', function: { name: call.name, arguments: '' } }
    const pieces = piecesOf(JSON.stringify(call.input))
    return [chunk({ tool_calls: [head] }), ...pieces.map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] }))]
  }
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  return [
    chunk({ role: 'assistant', content: '' }),
    ...(traits.hidesReasoning ? [] : piecesOf(reasoning).map((piece) => chunk(toReasoning(piece)))),
    ...piecesOf(text).map((piece) => chunk({ content: piece })),
    ...calls.flatMap(toCall),
    chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    sse({ id: `chatcmpl-${n}`, object: 'chat.completion.chunk', model: 'm', choices: [], usage }),
    sse('[DONE]'),
  ]
}
