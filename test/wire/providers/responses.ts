import {
  firstFault,
  isBlank,
  piecesOf,
  sign,
  sse,
  toolSchemaFault,
  unknownField,
  type Answer,
  type Refusal,
  type Rule,
  type WireProvider,
} from '../wire.ts'

/** The responses API of OpenAI, without stored items, as OpenAI, Azure and xAI serve it. */

type Item = Record<string, any>

const requestFields = [
  ...['model', 'input', 'instructions', 'tools', 'tool_choice', 'parallel_tool_calls', 'stream', 'store', 'include', 'reasoning', 'text'],
  ...[
    'max_output_tokens',
    'metadata',
    'temperature',
    'top_p',
    'truncation',
    'user',
    'service_tier',
    'prompt_cache_key',
    'safety_identifier',
  ],
  ...[
    'previous_response_id',
    'max_tool_calls',
    'conversation',
    'background',
    'top_logprobs',
    'prompt',
    'context_management',
    'stream_options',
  ],
]
const itemFields: Record<string, readonly string[]> = {
  message: ['type', 'role', 'content', 'id', 'status', 'phase'],
  reasoning: ['type', 'id', 'summary', 'encrypted_content', 'content', 'status'],
  function_call: ['type', 'id', 'call_id', 'name', 'arguments', 'status', 'namespace'],
  web_search_call: ['type', 'id', 'status', 'action'],
  function_call_output: ['type', 'id', 'call_id', 'output', 'status'],
}
const prefixes: Record<string, string> = {
  ...{ message: 'msg', reasoning: 'rs', function_call: 'fc', function_call_output: 'fc', web_search_call: 'ws' },
}

const typeOf = ({ type, role }: Item): string => type ?? (role === undefined ? '' : 'message')

const fields: Rule = ({ body }) => {
  const field = unknownField(body, requestFields)
  if (field !== undefined) return `Unknown parameter: '${field}'.`
  if (body.temperature !== undefined) return "Unsupported parameter: 'temperature' is not supported with this model."
  if (body.top_p !== undefined) return "Unsupported parameter: 'top_p' is not supported with this model."
  if (body.tools?.length === 0 && body.tool_choice !== undefined) return "Invalid value: 'tool_choice' needs tools."
  for (const [at, tool] of (body.tools ?? []).entries()) {
    if (tool.type === 'function' && !/^[a-zA-Z0-9_-]{1,64}$/.test(tool.name))
      return `Invalid 'tools[${at}].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`
    const fault = tool.type === 'function' ? toolSchemaFault(tool.parameters) : undefined
    if (fault !== undefined) return `Invalid schema for function '${tool.name}': ${fault}`
    if (tool.strict === true && tool.parameters.additionalProperties !== false)
      return `Invalid schema for function '${tool.name}': In context=(), 'additionalProperties' is required to be supplied and to be false.`
  }
  return undefined
}

const items: Rule = ({ body }) => {
  for (const [at, item] of body.input.entries()) {
    const type = typeOf(item)
    const known = itemFields[type]
    if (type === 'item_reference')
      return `Item with id '${item.id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`
    if (!known) return `Invalid value: '${type}'. Supported values are: 'message', 'reasoning', 'function_call' and 'function_call_output'.`
    const field = unknownField(item, known)
    if (field !== undefined) return `Unknown parameter: 'input[${at}].${field}'.`
    if (item.id?.length > 64 || item.call_id?.length > 64)
      return `Invalid 'input[${at}].call_id': string too long. Expected a string with maximum length 64.`
    if (type === 'message' && item.role === 'assistant' && item.content.length === 0) return `Invalid 'input[${at}].content': empty array.`
  }
  const ids = body.input.map(({ id }: Item) => id).filter(Boolean)
  const repeated = ids.find((id: string, index: number) => ids.indexOf(id) !== index)
  return repeated === undefined
    ? undefined
    : `Duplicate item found with id ${repeated}. Remove duplicate items from your input and try again.`
}

/** OpenAI tells kinds of items by their ids. */
const idPrefixes: Rule = ({ body }) => {
  for (const [at, item] of body.input.entries()) {
    const prefix = prefixes[typeOf(item)]
    if (item.id !== undefined && !item.id.startsWith(`${prefix}_`)) {
      return `Invalid 'input[${at}].id': '${item.id}'. Expected an ID that begins with '${prefix}'.`
    }
  }
  return undefined
}

const pairing: Rule = ({ body: { input } }) => {
  const idsOf = (type: string) => input.filter((item: Item) => typeOf(item) === type).map(({ call_id: id }: Item) => id)
  const [calls, outputs] = [idsOf('function_call'), idsOf('function_call_output')]
  const open = calls.find((id: string) => !outputs.includes(id))
  if (open !== undefined) return `No tool output found for function call ${open}.`
  const orphan = outputs.find((id: string) => !calls.includes(id))
  return orphan === undefined ? undefined : `No tool call found for function call output with call_id ${orphan}.`
}

/** Reasoning is followed by the item that it led to, and an item with an id follows its reasoning. */
const reasoning =
  (name: string): Rule =>
  ({ body: { input, store } }) => {
    for (const [at, item] of input.entries()) {
      const type = typeOf(item)
      if (type === 'reasoning') {
        if (store === false && isBlank(item.encrypted_content))
          return `Item with id '${item.id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`
        if (!isBlank(item.encrypted_content) && item.encrypted_content !== sign(name, item.id ?? ''))
          return 'The encrypted content gAAA... could not be verified. Reason: Encrypted content could not be decrypted or parsed.'
        const next = input[at + 1]
        const isFollowed = next && (/^(?:function_call|reasoning|web_search_call)$/.test(typeOf(next)) || next.role === 'assistant')
        if (!isFollowed) return `Item '${item.id}' of type 'reasoning' was provided without its required following item.`
      }
      const needed = /^(?:fc|msg|ws)_r(\d+)_/.exec(item.id ?? '')?.[1]
      if (needed !== undefined && !input.slice(0, at).some(({ id }: Item) => id === `rs_${needed}`)) {
        return `Item '${item.id}' of type '${type}' was provided without its required 'reasoning' item: 'rs_${needed}'.`
      }
    }
    return undefined
  }

interface ResponsesTraits {
  name: string
  llm: Record<string, unknown>
  basePath: string
  paths: RegExp
  keyHeader: string
  key: string
  refuse?(message: string): Refusal
  lesson?: RegExp
}

function responsesProvider({ name, llm, basePath, paths, keyHeader, key, refuse, lesson }: ResponsesTraits): WireProvider {
  const access: Rule = ({ headers }) => (headers[keyHeader] === key ? undefined : 'Incorrect API key provided.')
  const rules = [access, fields, items, ...(name.startsWith('xai') ? [] : [idPrefixes]), pairing, reasoning(name)]
  const toRefusal =
    refuse ?? ((message) => ({ status: 400, body: { error: { message, type: 'invalid_request_error', param: 'input', code: null } } }))
  return {
    name,
    llm,
    basePath,
    paths,
    contentType: 'text/event-stream',
    ...(lesson && { lesson }),
    check(request) {
      const fault = firstFault(rules, request)
      return fault === undefined ? undefined : toRefusal(fault)
    },
    stream: (answer, n) => streamResponse(name, answer, n),
  }
}

/** An item with the events between its begin and its end. */
interface Output {
  begin: Item
  deltas: Item[]
  end: Item
}

function streamResponse(name: string, answer: Answer, n: number): Uint8Array[] {
  const { reasoning: thoughts = '', searches = [], text = '', calls = [] } = answer
  const owner = thoughts === '' ? `p${n}` : `r${n}`
  const outputs: Output[] = [
    ...(thoughts === '' ? [] : [toThoughts(name, thoughts, n)]),
    ...searches.map((query, index) => toSearch(query, `ws_${owner}_${index}`)),
    ...(text === '' ? [] : [toMessage(text, `msg_${owner}_0`)]),
    ...calls.map(({ name: tool, input }, index) => toCall(tool, JSON.stringify(input), `fc_${owner}_${index}`, `call_${n}_${index}`)),
  ]
  const usage = {
    input_tokens: 10,
    output_tokens: 5,
    total_tokens: 15,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  }
  const response = { id: `resp_${n}`, object: 'response', created_at: 1, model: 'm', error: null, incomplete_details: null, output: [] }
  const events: Item[] = [
    { type: 'response.created', response: { ...response, status: 'in_progress' } },
    ...outputs.flatMap(({ begin, deltas, end }, index) => [
      { type: 'response.output_item.added', output_index: index, item: begin },
      ...deltas.map((delta) => ({ output_index: index, item_id: begin['id'], ...delta })),
      { type: 'response.output_item.done', output_index: index, item: end },
    ]),
    { type: 'response.completed', response: { ...response, status: 'completed', output: outputs.map(({ end }) => end), usage } },
  ]
  return events.map((event, number) => sse({ ...event, sequence_number: number }, event['type']))
}

function toThoughts(name: string, text: string, n: number): Output {
  // Only xAI gives reasoning a status.
  const status = name.startsWith('xai') ? { status: 'completed' } : {}
  const item = { type: 'reasoning', id: `rs_${n}`, encrypted_content: sign(name, `rs_${n}`), ...status }
  const deltas: Item[] = [
    { type: 'response.reasoning_summary_part.added', summary_index: 0, part: { type: 'summary_text', text: '' } },
    ...piecesOf(text).map((delta) => ({ type: 'response.reasoning_summary_text.delta', summary_index: 0, delta })),
    { type: 'response.reasoning_summary_part.done', summary_index: 0, part: { type: 'summary_text', text } },
  ]
  return { begin: { ...item, summary: [] }, deltas, end: { ...item, summary: [{ type: 'summary_text', text }] } }
}

function toSearch(query: string, id: string): Output {
  const item = { type: 'web_search_call', id }
  const deltas = ['in_progress', 'searching', 'completed'].map((state) => ({ type: `response.web_search_call.${state}` }))
  const sources = [{ type: 'url', url: `https://pages.example/${encodeURIComponent(query)}` }]
  const end = { ...item, status: 'completed', action: { type: 'search', query, sources } }
  return { begin: { ...item, status: 'in_progress' }, deltas, end }
}

function toMessage(text: string, id: string): Output {
  const item = { type: 'message', id, role: 'assistant' }
  const part = { type: 'output_text', text, annotations: [], logprobs: [] }
  const deltas: Item[] = piecesOf(text).map((delta) => ({ type: 'response.output_text.delta', content_index: 0, delta, logprobs: [] }))
  return { begin: { ...item, status: 'in_progress', content: [] }, deltas, end: { ...item, status: 'completed', content: [part] } }
}

function toCall(name: string, input: string, id: string, callId: string): Output {
  const item = { type: 'function_call', id, call_id: callId, name }
  const deltas: Item[] = piecesOf(input).map((delta) => ({ type: 'response.function_call_arguments.delta', delta }))
  deltas.push({ type: 'response.function_call_arguments.done', arguments: input })
  return { begin: { ...item, arguments: '', status: 'in_progress' }, deltas, end: { ...item, arguments: input, status: 'completed' } }
}

export const openaiResponses = responsesProvider({
  name: 'openai-responses',
  llm: { provider: 'openai', model: 'gpt-5.6', api_key: 'k', reasoning_effort: 'high' },
  basePath: '/v1',
  paths: /^\/v1\/responses$/,
  keyHeader: 'authorization',
  key: 'Bearer k',
})

/** The same model with the key of another organisation, which cannot read the reasoning of the first. */
export const otherOrganisation = responsesProvider({
  name: 'openai-other-organisation',
  llm: { provider: 'openai', model: 'gpt-5.6', api_key: 'other', reasoning_effort: 'high' },
  basePath: '/v1',
  paths: /^\/v1\/responses$/,
  keyHeader: 'authorization',
  key: 'Bearer other',
  lesson: /encrypted content/,
})

export const azureResponses = responsesProvider({
  name: 'azure-responses',
  llm: { provider: 'azure', model: 'gpt-5.6', api_key: 'k', reasoning_effort: 'high' },
  basePath: '',
  paths: /^\/openai\/v1\/responses(?:\?api-version=[\w-]+)?$/,
  keyHeader: 'api-key',
  key: 'k',
})

export const xaiResponses = responsesProvider({
  name: 'xai-responses',
  llm: { provider: 'xai', model: 'grok-4.3', api_key: 'k' },
  basePath: '/v1',
  paths: /^\/v1\/responses$/,
  keyHeader: 'authorization',
  key: 'Bearer k',
  refuse: (message) => ({ status: 400, body: { code: 'Client specified an invalid argument', error: message } }),
})
