import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startModelServer, type ModelScript, type ModelServer } from '../../../test/fixtures/model-server.ts'
import type { Message } from '../../agent/messages.ts'
import { ModelError, type ModelOptions, type ModelReply, type ToolOffer } from '../../agent/model.ts'
import { collectReply } from '../../agent/scripted-model.ts'
import type { ModelConfig } from '../../configuration/schema.ts'
import { createConnections } from '../connections.ts'
import { createModel } from '../create-model.ts'

const connections = createConnections()
const servers: ModelServer[] = []
after(async () => {
  await connections.close()
  await Promise.all(servers.map((server) => server.close()))
})

type Item = Record<string, unknown>

const offer = (tool: string, name = tool): ToolOffer => ({
  ...{ name, description: '', schema: { type: 'object' }, effect: 'read' },
  provider: { tool, config: tool === 'mcp' ? { server_url: 'https://m.example' } : {} },
})

const add: ToolOffer = {
  ...{ name: 'add', description: 'Adds.', effect: 'read' },
  schema: { type: 'object', properties: { a: { type: 'number' } } },
}

const configs: Record<string, ModelConfig> = {
  claude: { provider: 'anthropic', model: 'claude-sonnet-4-5', api_key: 'k', max_output_tokens: 2000, cache: 'off' },
  openai: { provider: 'openai', model: 'gpt-5.6', api_key: 'k' },
  grok: { provider: 'xai', model: 'grok-4.3', api_key: 'k' },
  gemini: { provider: 'google', model: 'gemini-3-pro-preview', api_key: 'k' },
}

/** Asks a model with these tools; `again` asks a later question of the session. */
async function setUp(name: keyof typeof configs, script: ModelScript, ...tools: ToolOffer[]) {
  const server = await startModelServer(script)
  servers.push(server)
  const model = createModel({ ...configs[name]!, base_url: server.url }, { environment: {}, connections })
  const ask = async (messages: Message[] = [{ role: 'user', text: 'Which colour?' }], options: ModelOptions = {}) => {
    const { reply, events } = await collectReply(model, { system: '', messages, tools, options })
    return { reply, events: events.filter(({ type }) => type !== 'text' && type !== 'reasoning') }
  }
  // The database keeps a turn as JSON.
  const again = ({ text, vendor }: ModelReply) =>
    ask([
      { role: 'user', text: 'Which colour?' },
      { role: 'assistant', text, toolCalls: [], ...(vendor && { vendor: JSON.parse(JSON.stringify(vendor)) }) },
      { role: 'user', text: 'Sure?' },
    ])
  return { server, ask, again }
}

const named = (events: ({ type: string } & Item)[]): string[] =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)

/** A message of Claude with these blocks. The input of calls comes in pieces. */
function claudeMessage(stop_reason: string, blocks: Item[]): string[] {
  const usage = { input_tokens: 10, output_tokens: 1 }
  const toEvents = (block: Item, index: number) => {
    const { input, ...begin } = block
    const isCall = input !== undefined
    const start = isCall ? { ...begin, input: {} } : block['type'] === 'text' ? { type: 'text', text: '' } : block
    const delta = isCall
      ? [{ type: 'input_json_delta', partial_json: JSON.stringify(input) }]
      : block['type'] === 'text'
        ? [{ type: 'text_delta', text: block['text'] }]
        : []
    return [
      { type: 'content_block_start', index, content_block: start },
      ...delta.map((part) => ({ type: 'content_block_delta', index, delta: part })),
      { type: 'content_block_stop', index },
    ]
  }
  return named([
    { type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, usage } },
    ...blocks.flatMap(toEvents),
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ])
}

/** A response of OpenAI or xAI with these items. */
function response(...items: Item[]): string[] {
  const usage = {
    ...{ input_tokens: 10, output_tokens: 5, total_tokens: 15 },
    ...{ input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } },
  }
  const about = { id: 'resp_1', object: 'response', created_at: 1, model: 'm' }
  const toEvents = (item: Item, output_index: number) => [
    { type: 'response.output_item.added', output_index, item: { ...item, ...(item['type'] === 'message' && { content: [] }) } },
    ...(item['type'] === 'message'
      ? [{ type: 'response.output_text.delta', output_index, item_id: item['id'], content_index: 0, delta: 'Red.' }]
      : []),
    { type: 'response.output_item.done', output_index, item },
  ]
  return named([
    { type: 'response.created', response: { ...about, status: 'in_progress', output: [] } },
    ...items.flatMap(toEvents),
    { type: 'response.completed', response: { ...about, status: 'completed', output: items, usage } },
  ])
}

const message: Item = {
  ...{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text: 'Red.', annotations: [] }],
}

const searched: Item = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'red' } }
const page = { type: 'web_search_result', url: 'https://a.example/x', title: 'A', page_age: null, encrypted_content: 'sealed' }
const found: Item = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [page] }

test('Claude searches, is paused, goes on, and reads its own pages in a later question', async () => {
  const { server, ask, again } = await setUp(
    'claude',
    [
      { raw: claudeMessage('pause_turn', [{ type: 'text', text: 'I look. ' }, searched, found]) },
      { raw: claudeMessage('end_turn', [{ type: 'text', text: 'Red.' }]) },
    ],
    offer('web_search'),
  )
  const { reply, events } = await ask()
  assert.deepEqual([reply.text, reply.toolCalls, reply.finish], ['I look. Red.', [], 'stop'])
  assert.deepEqual([reply.usage.input, reply.usage.output], [20, 10])
  assert.deepEqual(reply.sources, [{ url: 'https://a.example/x', title: 'A' }])
  const call = { id: 'srvtoolu_1', name: 'web_search', input: { query: 'red' } }
  assert.deepEqual(
    events.map((event) => ('call' in event ? [event.type, event.call] : [])),
    [
      ['call_start', call],
      ['call_end', call],
    ],
  )
  const sent = [{ type: 'text', text: 'I look. ' }, searched, found]
  assert.deepEqual(server.requests[1]!.body.messages.slice(1), [{ role: 'assistant', content: sent }])

  await again(reply)
  const { messages } = server.requests[2]!.body
  assert.deepEqual(messages[1], {
    role: 'assistant',
    content: [{ type: 'text', text: 'I look. ' }, ...sent.slice(1), { type: 'text', text: 'Red.' }],
  })
})

test('a reply that Claude never ends is given up', async () => {
  const { server, ask } = await setUp('claude', { raw: claudeMessage('pause_turn', [searched, found]) }, offer('web_search'))
  await ask().catch((error: unknown) => assert.ok(error instanceof ModelError))
  assert.equal(server.requests.length, 10)
})

test('the turns of a reply that Claude pauses share the length that the request allows', async () => {
  const { server, ask } = await setUp('claude', { raw: claudeMessage('pause_turn', [searched, found]) }, offer('web_search'))
  await ask(undefined, { maxOutputTokens: 12 }).catch((error: unknown) => assert.ok(error instanceof ModelError))
  assert.deepEqual(
    server.requests.slice(0, 4).map(({ body }) => body.max_tokens),
    [12, 7, 2, 1],
  )
})

test('a call on a remote server of Claude has the name of the server in agent.yaml', async () => {
  const use: Item = { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'find', server_name: 'shop', input: { what: 'red' } }
  const result: Item = { type: 'mcp_tool_result', tool_use_id: 'mcptoolu_1', is_error: false, content: [{ type: 'text', text: 'One.' }] }
  const blocks = [use, result, { type: 'text', text: 'Red.' }]
  const { server, ask, again } = await setUp(
    'claude',
    { raw: claudeMessage('end_turn', blocks) },
    offer('mcp', 'shop'),
    offer('mcp', 'bank'),
  )
  const { reply, events } = await ask()
  assert.deepEqual(
    events.map((event) => ('call' in event ? [event.type, event.call.name, event.call.input] : [])),
    [
      ['call_start', 'shop', { what: 'red' }],
      ['call_end', 'shop', { what: 'red' }],
    ],
  )
  await again(reply)
  assert.deepEqual(server.requests[1]!.body.messages[1].content.slice(0, 2), [use, result])
})

test('OpenAI searches and paints: a step each, the picture is a file, and nothing is a call for the agent', async () => {
  const search: Item = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'red' } }
  const picture: Item = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'iVBORw0KGgoAAA==' }
  const { server, ask, again } = await setUp(
    'openai',
    { raw: response(search, picture, message) },
    offer('web_search'),
    offer('image_generation'),
  )
  const { reply, events } = await ask()
  assert.deepEqual([reply.text, reply.toolCalls], ['Red.', []])
  assert.deepEqual(reply.files, [{ mediaType: 'image/png', data: 'iVBORw0KGgoAAA==' }])
  assert.deepEqual(
    events.map((event) => ('call' in event ? `${event.type} ${event.call.name}` : '')),
    ['call_start web_search', 'call_end web_search', 'call_start image_generation', 'call_end image_generation'],
  )
  assert.doesNotMatch(JSON.stringify([events, reply.vendor]), /iVBORw0KGgo/)
  await again(reply)
  const { input } = server.requests[1]!.body
  assert.deepEqual(input.slice(1, -1), [search, { role: 'assistant', content: 'Red.' }])
})

test('a remote server of OpenAI that wants an approval fails the run: nobody can give it', async () => {
  const wanted: Item = { type: 'mcp_approval_request', id: 'mcpr_1', name: 'refund', arguments: '{}', server_label: 'shop' }
  const { ask } = await setUp('openai', { raw: response(wanted) }, offer('mcp', 'shop'))
  await assert.rejects(ask(), { name: 'ModelError', code: 'refused' })
})

test('a search of xAI is a step with its pages', async () => {
  const search: Item = { type: 'web_search_call', id: 'ws_1', name: 'web_search', arguments: '{"query":"red"}', status: 'completed' }
  const { ask, again } = await setUp('grok', { raw: response(search, message) }, offer('web_search'))
  const { reply, events } = await ask()
  assert.deepEqual([reply.text, reply.toolCalls], ['Red.', []])
  assert.equal(events.filter(({ type }) => type === 'call_start').length, 1)
  await again(reply)
})

test('a search of Gemini is a step for each query; the code of Gemini is a step with its output', async () => {
  const groundingMetadata = {
    ...{ webSearchQueries: ['red sky', 'red sea'] },
    groundingChunks: [{ web: { uri: 'https://a.example/x', title: 'A' } }],
  }
  const chunk = (parts: object[], rest: object = {}) =>
    `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', ...rest }] })}\n\n`
  const search = await setUp('gemini', { raw: [chunk([{ text: 'Red.' }], { groundingMetadata })] }, offer('web_search'))
  const { reply, events } = await search.ask()
  assert.deepEqual(reply.sources, [{ url: 'https://a.example/x', title: 'A' }])
  assert.deepEqual(
    events.map((event) => ('call' in event ? [event.type, event.call.name, event.call.input] : [])),
    [
      ['call_end', 'web_search', { query: 'red sky' }],
      ['call_end', 'web_search', { query: 'red sea' }],
    ],
  )

  const code = { executableCode: { language: 'PYTHON', code: 'print(1)' } }
  const output = { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1\n' } }
  const run = await setUp('gemini', { raw: [chunk([code, output, { text: 'One.' }])] }, offer('code', 'python'))
  const ran = await run.ask()
  assert.deepEqual(
    ran.events.map((event) => ('call' in event ? `${event.type} ${event.call.name}` : '')),
    ['call_start python', 'call_end python'],
  )
  await run.again(ran.reply)
  const [, turn] = run.server.requests[1]!.body.contents
  assert.deepEqual(turn.parts, [code, output, { text: 'One.' }])
})

test('a call of Claude that stands open beside a call of the agent is not sent back, because later requests would be refused', async () => {
  const own: Item = { type: 'tool_use', id: 'toolu_1', name: 'add', input: { a: 1 } }
  for (const open of [searched, { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'find', server_name: 'shop', input: {} }]) {
    const script = { raw: claudeMessage('tool_use', [{ type: 'text', text: 'I look.' }, open, own]) }
    const { server, ask } = await setUp('claude', script, offer('web_search'), offer('mcp', 'shop'), add)
    const { reply } = await ask()
    assert.deepEqual(reply.toolCalls, [{ name: 'add', arguments: '{"a":1}' }])
    await ask([
      { role: 'user', text: 'Which colour?' },
      { role: 'assistant', text: reply.text, toolCalls: [{ id: 'c', name: 'add', arguments: '{"a":1}' }], vendor: reply.vendor! },
      { role: 'tool', callId: 'c', name: 'add', text: '2', isError: false },
    ])
    const { content } = server.requests[1]!.body.messages[1]
    assert.deepEqual(
      content.map(({ type }: Item) => type),
      ['text', 'tool_use'],
    )
  }
})

test('the result of a call on a remote server that Claude sends after a pause belongs to the call before it', async () => {
  const use: Item = { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'find', server_name: 'shop', input: { what: 'red' } }
  const result: Item = { type: 'mcp_tool_result', tool_use_id: 'mcptoolu_1', is_error: false, content: [{ type: 'text', text: 'One.' }] }
  const parts = [[use], [result, { type: 'text', text: 'Red.' }]]
  const script = parts.map((blocks, at) => ({ raw: claudeMessage(at === 0 ? 'pause_turn' : 'end_turn', blocks) }))
  const { server, ask, again } = await setUp('claude', script, offer('mcp', 'shop'))
  const { reply, events } = await ask()
  assert.equal(reply.text, 'Red.')
  assert.deepEqual(
    events.map((event) => ('call' in event ? [event.type, event.call.name, event.call.input] : [])),
    [
      ['call_start', 'shop', { what: 'red' }],
      ['call_end', 'shop', { what: 'red' }],
    ],
  )
  assert.deepEqual(server.requests[1]!.body.messages[1].content, [use])
  await again(reply)
  assert.deepEqual(server.requests[2]!.body.messages[1].content, [use, result, { type: 'text', text: 'Red.' }])
})

test('a count of tokens that Gemini leaves out is zero', async () => {
  const usageMetadata = { promptTokenCount: 9, candidatesTokenCount: 2, promptTokensDetails: [{ modality: 'AUDIO' }] }
  const content = { role: 'model', parts: [{ text: 'Röt.' }] }
  const event = `data: ${JSON.stringify({ candidates: [{ content, finishReason: 'STOP' }], usageMetadata })}\r\n\r\n`
  for (const writes of ['together', 1] as const) {
    const { ask } = await setUp('gemini', { raw: [event], writes })
    const { reply } = await ask()
    assert.deepEqual([reply.text, reply.usage.input, reply.usage.output], ['Röt.', 9, 2])
  }
})

test('what OpenAI ran goes back as it was, in its place between the reasoning', async () => {
  const thought = (n: number): Item => ({ type: 'reasoning', id: `rs_${n}`, encrypted_content: `sealed-${n}`, summary: [] })
  const items: Item[] = [
    { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'shop', tools: [{ name: 'find', input_schema: { type: 'object' } }] },
    thought(1),
    {
      ...{ type: 'code_interpreter_call', id: 'ci_1', status: 'completed', code: 'print(1)', container_id: 'cntr_1' },
      outputs: [{ type: 'logs', logs: '1' }],
    },
    thought(2),
    {
      ...{ type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['red'] },
      results: [{ file_id: 'file-1', filename: 'a.txt', score: 0.5, text: 'Red.', attributes: {} }],
    },
    { type: 'mcp_call', id: 'mcp_1', status: 'completed', server_label: 'shop', name: 'find', arguments: '{"a":1}', output: 'One.' },
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'red' } },
    thought(3),
  ]
  const files = { ...offer('file_search'), provider: { tool: 'file_search', config: { vector_store_ids: ['vs_1'] } } }
  const offers = [offer('code'), files, offer('mcp', 'shop'), offer('web_search')]
  const { server, ask, again } = await setUp('openai', { raw: response(...items, message) }, ...offers)
  const { reply } = await ask()
  await again(reply)
  assert.deepEqual(server.requests[1]!.body.input.slice(1, -2), items)
})

test('a made picture does not go back', async () => {
  const made: Item = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'iVBORw0KGgo=' }
  const { server, ask, again } = await setUp('openai', { raw: response(made, message) }, offer('image_generation'))
  const { reply } = await ask()
  assert.deepEqual(reply.files, [{ mediaType: 'image/png', data: 'iVBORw0KGgo=' }])
  await again(reply)
  assert.equal(server.requests[1]!.body.input.length, 3)
})

test('what xAI ran goes back as it was', async () => {
  const items: Item[] = [
    { type: 'reasoning', id: 'rs_1', status: 'completed', encrypted_content: 'sealed-1', summary: [] },
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'red', sources: [] } },
    { type: 'custom_tool_call', id: 'ctc_1', call_id: 'xs_1', name: 'x_keyword_search', input: '{"query":"red"}', status: 'completed' },
  ]
  items.push({ type: 'view_x_video_call', id: 'vx_1', name: 'view_x_video', arguments: '{}', status: 'completed' })
  const { server, ask, again } = await setUp('grok', { raw: response(...items, message) }, offer('web_search'), offer('x_search', 'posts'))
  const { reply, events } = await ask()
  assert.deepEqual(events.map((event) => ('call' in event && event.type === 'call_end' ? event.call.name : '')).filter(Boolean), [
    'web_search',
    'posts',
    'posts',
  ])
  await again(reply)
  assert.deepEqual(server.requests[1]!.body.input.slice(1, -2), items)
})

test('what Gemini ran goes back with its ids and signatures', async () => {
  const code = { executableCode: { language: 'PYTHON', code: 'print(1)', id: 'c1' }, thoughtSignature: 'signed-1' }
  const output = { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1\n', id: 'c1' } }
  const search = { toolCall: { toolType: 'GOOGLE_SEARCH_WEB', args: { queries: ['red'] }, id: 's1' }, thoughtSignature: 'signed-2' }
  const pages = { toolResponse: { toolType: 'GOOGLE_SEARCH_WEB', response: { pages: 1 }, id: 's1' }, thoughtSignature: 'signed-3' }
  const silent = { codeExecutionResult: { outcome: 'OUTCOME_OK', id: 'c2' } }
  const parts = [{ text: 'I look.' }, code, output, search, pages, { ...code, thoughtSignature: 'signed-4' }, silent, { text: 'Red.' }]
  for (const chunks of [[parts], parts.map((part) => [part])]) {
    const raw = chunks.map((piece, at) => {
      const end = at === chunks.length - 1 ? { finishReason: 'STOP' } : {}
      return `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts: piece }, ...end }] })}\n\n`
    })
    const { server, ask, again } = await setUp('gemini', { raw }, offer('code', 'python'), offer('web_search'), add)
    const { reply } = await ask()
    await again(reply)
    assert.deepEqual(server.requests[1]!.body.contents[1].parts, parts)
  }
})

test('a summary of Claude is no part of the answer, and goes back', async () => {
  const text: Item = { type: 'text', text: 'Red.' }
  const [begin, ...rest] = claudeMessage('end_turn', [{ type: 'compaction', content: null }, text])
  const summed = named([{ type: 'content_block_delta', index: 0, delta: { type: 'compaction_delta', content: 'Colours were asked.' } }])
  const whole = [begin!, rest[0]!, ...summed, ...rest.slice(1)]
  const paused = [begin!, rest[0]!, ...summed, rest[1]!, ...claudeMessage('compaction', []).slice(1)]
  for (const script of [[{ raw: whole }], [{ raw: paused }, { raw: claudeMessage('end_turn', [text]) }]]) {
    const { server, ask, again } = await setUp('claude', script)
    const { reply } = await ask()
    assert.equal(reply.text, 'Red.')
    await again(reply)
    const { content } = server.requests.at(-1)!.body.messages[1]
    assert.deepEqual(content, [{ type: 'compaction', content: 'Colours were asked.' }, text])
  }
})
