import {
  firstFault,
  isBlank,
  piecesOf,
  refusedProperty,
  sign,
  sse,
  toolSchemaFault,
  unknownField,
  type Answer,
  type Rule,
  type WireProvider,
} from '../wire.ts'

/** The messages API of Anthropic. Its thinking is signed, and the signature is checked. */

type Block = Record<string, any>

const requestFields = [
  ...['model', 'messages', 'system', 'max_tokens', 'stream', 'temperature', 'top_p', 'top_k', 'stop_sequences', 'tools', 'tool_choice'],
  ...[
    'thinking',
    'metadata',
    'cache_control',
    'service_tier',
    'output_config',
    'output_format',
    'context_management',
    'container',
    'mcp_servers',
  ],
]
const blockFields: Record<string, readonly string[]> = {
  text: ['type', 'text', 'cache_control', 'citations'],
  thinking: ['type', 'thinking', 'signature'],
  redacted_thinking: ['type', 'data'],
  tool_use: ['type', 'id', 'name', 'input', 'cache_control', 'caller'],
  tool_result: ['type', 'tool_use_id', 'content', 'is_error', 'cache_control'],
  server_tool_use: ['type', 'id', 'name', 'input', 'cache_control', 'caller'],
  web_search_tool_result: ['type', 'tool_use_id', 'content', 'cache_control', 'caller'],
  image: ['type', 'source', 'cache_control'],
  document: ['type', 'source', 'title', 'context', 'citations', 'cache_control'],
}

const blocksOf = ({ content }: any): Block[] => (typeof content === 'string' ? [{ type: 'text', text: content }] : content)

const fields: Rule = ({ body, headers }) => {
  if (headers['x-api-key'] !== 'k') return 'invalid x-api-key'
  if (headers['anthropic-version'] === undefined) return 'anthropic-version: header is required'
  if (typeof body.max_tokens !== 'number') return 'max_tokens: Field required'
  const field = unknownField(body, requestFields)
  return field === undefined ? undefined : `${field}: Extra inputs are not permitted`
}

const settings: Rule = ({ body: { thinking, max_tokens: limit, temperature, tool_choice: choice } }) => {
  if (thinking?.type !== 'enabled' && thinking?.type !== 'adaptive') return undefined
  if (thinking.type === 'enabled' && limit <= thinking.budget_tokens) {
    return '`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size'
  }
  if (thinking.type === 'enabled' && thinking.budget_tokens < 1024)
    return 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024'
  if (temperature !== undefined && temperature !== 1) return '`temperature` may only be set to 1 when thinking is enabled.'
  if (choice?.type === 'any' || choice?.type === 'tool') return 'Thinking may not be enabled when tool_choice forces tool use.'
  return undefined
}

const stops: Rule = ({ body: { stop_sequences: list = [] } }) =>
  list.some(isBlank) ? 'stop_sequences: each stop sequence must contain non-whitespace' : undefined

const blocks: Rule = ({ body }) => {
  for (const [at, message] of body.messages.entries()) {
    const list = blocksOf(message)
    if (list.length === 0) return `messages.${at}: all messages must have non-empty content except for the optional final assistant message`
    for (const [index, block] of list.entries()) {
      const place = `messages.${at}.content.${index}`
      const field = unknownField(block, blockFields[block['type']] ?? [])
      if (field !== undefined) return `${place}.${block['type']}.${field}: Extra inputs are not permitted`
      if (block['type'] === 'text' && block['text'] === '') return 'messages: text content blocks must be non-empty'
      if (block['type'] === 'text' && isBlank(block['text'])) return 'messages: text content blocks must contain non-whitespace text'
      if (block['type'] === 'tool_use' && !/^[a-zA-Z0-9_-]+$/.test(block['id']))
        return `${place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`
      if (block['type'] === 'tool_use' && (typeof block['input'] !== 'object' || Array.isArray(block['input'])))
        return `${place}.tool_use.input: Input should be a valid dictionary`
      if (block['type'] === 'thinking' && block['signature'] !== sign('anthropic', block['thinking']))
        return `${place}: Invalid \`signature\` in \`thinking\` block`
    }
  }
  return undefined
}

/** A search has its result in the same message, with the pages as they were. */
const searches: Rule = ({ body: { messages } }) => {
  for (const [at, message] of messages.entries()) {
    const list = blocksOf(message)
    const results = list.filter(({ type }) => type === 'web_search_tool_result')
    for (const { id } of list.filter(({ type }) => type === 'server_tool_use')) {
      if (!results.some(({ tool_use_id: used }) => used === id))
        return `messages.${at}: \`web_search\` tool use with id \`${id}\` was found without a corresponding \`web_search_tool_result\` block`
    }
    for (const { tool_use_id: id, content } of results) {
      if (!list.some((block) => block['id'] === id))
        return `messages.${at}: unexpected \`tool_use_id\` found in \`web_search_tool_result\` blocks: ${id}.`
      const [{ type, url, encrypted_content: sealed }] = content
      if (type !== 'web_search_result' || sealed !== sign('anthropic', url))
        return `messages.${at}.content.0.web_search_tool_result.content.0: Invalid \`encrypted_content\` in \`search_result\` block`
    }
  }
  return undefined
}

/** The results of all calls of a message open the next message. */
const pairing: Rule = ({ body: { messages } }) => {
  for (const [at, message] of messages.entries()) {
    const ids = blocksOf(message)
      .filter(({ type }) => type === 'tool_use')
      .map(({ id }) => id)
    const next = messages[at + 1] ? blocksOf(messages[at + 1]) : []
    const results = next.slice(0, next.findLastIndex(({ type }) => type === 'tool_result') + 1)
    const answered = new Set(results.map(({ tool_use_id: id }) => id))
    const open = ids.filter((id) => !answered.has(id))
    if (open.length > 0 || results.some(({ type }) => type !== 'tool_result')) {
      return `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
    }
    const strange = results.find(({ tool_use_id: id }) => !ids.includes(id))
    if (strange)
      return `messages.${at + 1}.content.0: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${strange['tool_use_id']}.`
  }
  return undefined
}

/** The message with the open calls of a thinking model begins with its thoughts. */
const thinkingFirst: Rule = ({ body: { messages, thinking } }) => {
  if (thinking?.type !== 'enabled') return undefined
  const from = messages.findLastIndex(
    (message: any) => message.role === 'user' && blocksOf(message).some(({ type }) => type !== 'tool_result'),
  )
  const turn = messages.slice(from + 1).filter(({ role }: any) => role === 'assistant')
  const last = turn.at(-1)
  const [first] = last ? blocksOf(last) : []
  if (!first || first['type'] === 'thinking' || first['type'] === 'redacted_thinking') return undefined
  const place = `messages.${messages.indexOf(last)}.content.0`
  return `${place}.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first['type']}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`
}

const caches: Rule = ({ body }) => {
  const count = JSON.stringify(body).split('"cache_control":').length - 1
  return count > 4 ? `A maximum of 4 blocks with cache_control may be provided. Found ${count}.` : undefined
}

const tools: Rule = ({ body }) => {
  if (body.tools === undefined && /"type":"tool_(?:use|result)"/.test(JSON.stringify(body.messages)))
    return 'Requests which include `tool_use` or `tool_result` blocks must define tools'
  if (body.messages[0]?.role !== 'user') return 'messages: first message must use the "user" role'
  const bad = (body.tools ?? []).findIndex(({ type, name }: Block) => type === undefined && !/^[a-zA-Z0-9_-]{1,128}$/.test(name))
  if (bad >= 0) return `tools.${bad}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`
  for (const [at, { input_schema: schema }] of (body.tools ?? []).entries()) {
    const fault = schema && (toolSchemaFault(schema) ?? refusedProperty(schema))
    if (fault !== undefined) return `tools.${at}.custom.input_schema: ${fault}`
  }
  const last = body.messages.at(-1)
  const isOpenEnd = last.role === 'assistant' && /\s$/.test(blocksOf(last).at(-1)?.['text'] ?? '')
  return isOpenEnd ? 'messages: final assistant content cannot end with trailing whitespace' : undefined
}

const rules: readonly Rule[] = [fields, settings, stops, blocks, searches, pairing, thinkingFirst, caches, tools]

export const anthropic: WireProvider = {
  name: 'anthropic',
  llm: { provider: 'anthropic', model: 'claude-sonnet-4-5', api_key: 'k', reasoning_effort: 'high', max_output_tokens: 20_000 },
  basePath: '/v1',
  paths: /^\/v1\/messages$/,
  contentType: 'text/event-stream',
  check(request) {
    const message = firstFault(rules, request)
    return message === undefined
      ? undefined
      : { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message }, request_id: 'req_1' } }
  },
  stream({ reasoning = '', searches: queries = [], text = '', calls = [], isPaused = false }: Answer, n) {
    const contents = [
      ...(reasoning === '' ? [] : [thinkingBlock(reasoning)]),
      ...queries.flatMap((query, index) => searchBlocks(query, `srvtoolu_${n}_${index}`)),
      ...(text === ''
        ? []
        : [{ start: { type: 'text', text: '' }, deltas: piecesOf(text).map((piece) => ({ type: 'text_delta', text: piece })) }]),
      ...calls.map(({ name, input }, index) => ({
        start: { type: 'tool_use', id: `toolu_${n}_${index}`, name, input: {} },
        deltas: piecesOf(JSON.stringify(input)).map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
      })),
    ]
    const event = (type: string, rest: object) => sse({ type, ...rest }, type)
    const message = {
      id: `msg_${n}`,
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      stop_reason: null,
      usage: { input_tokens: 10, output_tokens: 1 },
    }
    return [
      event('message_start', { message }),
      event('ping', {}),
      ...contents.flatMap(({ start, deltas }, index) => [
        event('content_block_start', { index, content_block: start }),
        ...deltas.map((delta) => event('content_block_delta', { index, delta })),
        event('content_block_stop', { index }),
      ]),
      event('message_delta', {
        delta: { stop_reason: isPaused ? 'pause_turn' : calls.length > 0 ? 'tool_use' : 'end_turn', stop_sequence: null },
        usage: { output_tokens: 5 },
      }),
      event('message_stop', {}),
    ]
  },
}

function thinkingBlock(reasoning: string) {
  const deltas: object[] = piecesOf(reasoning).map((thinking) => ({ type: 'thinking_delta', thinking }))
  deltas.push({ type: 'signature_delta', signature: sign('anthropic', reasoning) })
  return { start: { type: 'thinking', thinking: '', signature: '' }, deltas }
}

function searchBlocks(query: string, id: string) {
  const url = `https://pages.example/${encodeURIComponent(query)}`
  const page = { type: 'web_search_result', url, title: query, page_age: null, encrypted_content: sign('anthropic', url) }
  return [
    {
      start: { type: 'server_tool_use', id, name: 'web_search', input: {} },
      deltas: piecesOf(JSON.stringify({ query })).map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
    },
    { start: { type: 'web_search_tool_result', tool_use_id: id, content: [page] }, deltas: [] },
  ]
}
