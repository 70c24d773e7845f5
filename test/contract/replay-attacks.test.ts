import assert from 'node:assert/strict'
import { readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import { fromJsonSchema } from '@modelcontextprotocol/server'
import { stringify } from 'yaml'
import { startSink, type CountingSink } from '../fixtures/counting-sink.ts'
import { startMcpServer } from '../fixtures/mcp-http-server.ts'
import type { ModelAnswer, ModelServerRequest } from '../fixtures/model-server.ts'
import { makeFolder } from '../fixtures/process.ts'
import { until } from '../fixtures/async-client.ts'
import { endOf, startExperiment } from '../fixtures/refund-shop.ts'
import { startService, type TestService } from '../fixtures/service.ts'
import type { Client } from '../fixtures/service-client.ts'

/** Ways in which a replay could write, or reach something outside. */

interface Attack {
  tool: string
  /** True where each call is a write. */
  writes?: true
  /** The arguments in the recorded run, and those of the candidate. */
  recorded: object
  candidate: object
  /** Fields of the chat. */
  request?: object
  /** The run waits for a person or for the client. */
  waits?: 'approval' | 'client'
}

const place = { name: 'place', description: 'Where the user is.', schema: { type: 'object' } }

const subAgent = (name: string) => ({ name, description: 'Pays.', objective: 'Pay.', tools: ['pay'] })

const attacksOn = ({ url }: CountingSink): Record<string, Attack> => ({
  'a module that writes': { writes: true, tool: 'pay', recorded: { to: 'a' }, candidate: { to: 'b' } },
  'a module that says that it reads': { tool: 'peek', recorded: { to: 'a' }, candidate: { to: 'b' } },
  'a tool of an MCP server': { writes: true, tool: 'crm__send', recorded: { to: 'a' }, candidate: { to: 'b' } },
  'an MCP tool that asks the caller': { writes: true, tool: 'crm__book', recorded: { to: 'a' }, candidate: { to: 'b' } },
  'an operation of an API': { writes: true, tool: 'shop__refund', recorded: { order: 1 }, candidate: { order: 2 } },
  'a request': {
    writes: true,
    tool: 'fetch',
    recorded: { method: 'POST', url: `${url}/recorded`, body: '{}' },
    candidate: { method: 'POST', url: `${url}/candidate`, body: '{}' },
  },
  'a request that reads': {
    writes: true,
    tool: 'fetch',
    recorded: { method: 'GET', url: `${url}/a` },
    candidate: { method: 'GET', url: `${url}/b` },
  },
  'a page': { tool: 'web_page', recorded: { url: `${url}/a` }, candidate: { url: `${url}/b` } },
  'a file': {
    writes: true,
    tool: 'write_file',
    recorded: { file_name: 'a.txt', content: 'a' },
    candidate: { file_name: 'b.txt', content: 'b' },
  },
  'code that makes a file': {
    tool: 'run_python',
    recorded: { code: 'open("a.txt", "w").write("a")' },
    candidate: { code: 'open("b.txt", "w").write("b")' },
  },
  'a chart': {
    tool: 'chart',
    recorded: { spec: { mark: 'bar', data: { values: [{ a: 1 }] }, encoding: { x: { field: 'a' } } } },
    candidate: { spec: { mark: 'bar', data: { values: [{ a: 2 }] }, encoding: { x: { field: 'a' } } } },
  },
  'a query': { tool: 'sales', recorded: { sql: 'select 1 as a' }, candidate: { sql: `copy (select 1) to 'b.csv'` } },
  'a sub-agent that is made': { writes: true, tool: 'create_sub_agent', recorded: subAgent('one'), candidate: subAgent('two') },
  'a task for a sub-agent': { tool: 'sub_agent_helper', recorded: { task: 'a' }, candidate: { task: 'b' } },
  'a call that needs an approval': { writes: true, tool: 'guarded', recorded: { to: 'a' }, candidate: { to: 'b' }, waits: 'approval' },
  'a tool of the client': {
    writes: true,
    tool: 'place',
    recorded: { to: 'a' },
    candidate: { to: 'b' },
    request: { client_tools: [place] },
    waits: 'client',
  },
  'a run that is remembered': {
    writes: true,
    tool: 'pay',
    recorded: { to: 'm' },
    candidate: { to: 'n' },
    request: { auto_memory_retain: true },
  },
})

/** Makes one call: that of the recorded run, or that of the candidate. */
function scriptOf(attacks: Record<string, Attack>) {
  return ({ body }: ModelServerRequest): ModelAnswer => {
    const { messages } = body
    const system = messages[0].role === 'system' ? String(messages[0].content) : ''
    const asked = messages.findLast(({ role }: { role: string }) => role === 'user')
    const attack = attacks[String(asked.content)]
    if (system.includes('memory of an assistant')) return { text: '[{"kind":"fact","content":"Ann pays."}]' }
    if (!attack || messages.at(-1).role === 'tool') return { text: 'Done.', usage: { input: 10, output: 2 } }
    const { tool, recorded, candidate } = attack
    const input = system.includes('candidate') ? candidate : recorded
    return { calls: [{ name: tool, arguments: JSON.stringify(input) }], usage: { input: 10, output: 2 } }
  }
}

const moduleText = (url: string, effect: string) => `import { defineTool } from 'agent-core'
export default defineTool({
  description: 'Pays.', effect: '${effect}',
  schema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
  async execute({ to }) {
    await fetch('${url}/module/' + to, { method: 'POST' })
    return 'paid'
  },
})
`

const shopApi = {
  openapi: '3.1.0',
  info: { title: 'Shop', version: '1' },
  paths: {
    '/refunds': {
      post: {
        operationId: 'refund',
        requestBody: { content: { 'application/json': { schema: { type: 'object', properties: { order: { type: 'integer' } } } } } },
        responses: { 200: { description: 'Done' } },
      },
    },
  },
}

async function start(t: TestContext) {
  const sink = await startSink(t)
  const attacks = attacksOn(sink)
  const folder = await makeFolder(t)
  await writeFile(path.join(folder, 'pay.mjs'), moduleText(sink.url, 'write'))
  await writeFile(path.join(folder, 'peek.mjs'), moduleText(sink.url, 'read'))
  const evil = path.join(folder, 'evil.mjs')
  await writeFile(evil, `await fetch('${sink.url}/loaded', { method: 'POST' })`)
  const crm = await startMcpServer((server) => {
    const inputSchema = fromJsonSchema({ type: 'object' })
    server.registerTool('send', { description: 'Sends.', inputSchema }, () => ({ content: [{ type: 'text', text: 'sent' }] }))
    const seat = {
      method: 'elicitation/create',
      params: { mode: 'form', message: 'Sure?', requestedSchema: { type: 'object', properties: {} } },
    }
    server.registerTool('book', { description: 'Books.', inputSchema }, (_: unknown, { mcpReq }: any) =>
      mcpReq.inputResponses
        ? { content: [{ type: 'text', text: 'booked' }] }
        : ({ resultType: 'input_required', inputRequests: { seat }, requestState: 's' } as any),
    )
  })
  t.after(() => crm.close())
  const module = (name: string, file: string, more = {}) => ({ name, type: 'module', config: { path: path.join(folder, file) }, ...more })
  const service = await startService(t, {
    script: scriptOf(attacks),
    modelFields: { prices: { input: 1, output: 1 } },
    environment: { OUTBOUND_ALLOW: `${sink.host},${new URL(crm.url).host}` },
    files: { 'api.yaml': stringify(shopApi), 'sales.csv': 'a\n1\n' },
    config: {
      tools: [
        module('pay', 'pay.mjs'),
        module('peek', 'peek.mjs'),
        module('guarded', 'pay.mjs', { approval: 'required' }),
        { name: 'crm', type: 'mcp', config: { url: crm.url, elicitation: 'allow' } },
        { name: 'shop', type: 'openapi', config: { spec: 'files/api.yaml', base_url: sink.url } },
        { name: 'fetch', type: 'http_request' },
        { name: 'web_page' },
        { name: 'write_file' },
        { name: 'run_python' },
        { name: 'chart' },
        { name: 'sales', type: 'data_query', config: { tables: { sales: 'sales.csv' } } },
      ],
      sub_agents: { may_create: true },
      access: { roles: { tester: ['evals.read', 'evals.write'] } },
      budgets: [
        { name: 'runs', scope: 'run', limit: { usd: 1 } },
        { name: 'all', scope: 'service', window: 'day', limit: { usd: 1000 } },
      ],
    },
  })
  const client = await service.as({ roles: ['admin'] })
  const calls = () => crm.requests.filter(({ body }) => body?.method === 'tools/call').length
  return { service, client, sink, attacks, evil, reached: () => [...sink.requests, `${calls()} calls of the MCP server`] }
}

/** Records a run for each attack, with the decisions that it waits for. */
async function record(client: Client, attacks: Record<string, Attack>): Promise<string> {
  await client.request('POST', '/core/v1/chain/sub_agents', { body: { name: 'helper', tools: ['pay'] } })
  const { body: dataset } = await client.request('POST', '/core/v1/datasets', { body: { name: 'attacks' } })
  for (const [n, [name, { request, waits }]] of Object.entries(attacks).entries()) {
    const id = `r${n}`
    let reply = await client.chat({ messages: [{ role: 'user', content: name }], ...request }, { 'request-id': id, 'session-id': id })
    for (let rounds = 0; rounds < 3 && reply.status === 202; rounds++) {
      const { calls } = reply.body.approval_required ?? reply.body.client_tool_calls ?? reply.body.body.approval_required
      for (const { tool_call_id: call } of calls)
        await client.request('POST', `/core/v1/runs/${id}/approvals`, {
          body: { tool_call_id: call, ...(waits === 'client' ? { decision: 'output', output: 'Basel' } : { decision: 'approve' }) },
        })
      reply = await client.chat({ messages: [{ role: 'user', content: name }], ...request }, { 'request-id': id, 'session-id': id })
    }
    assert.equal(reply.status, 200, `${name}: ${reply.text}`)
    const added = await client.request('POST', `/core/v1/datasets/${dataset.id}/examples`, { body: { from_run: { request_id: id } } })
    assert.equal(added.status, 201, `${name}: ${added.text}`)
    assert.equal(added.body.recording[0].status, 'success', name)
  }
  return dataset.id
}

/** Tables that an experiment writes, those of its job, of leases and of budgets, and the seal of the ledger. */
const ownTables = /^(experiments|experiment_results|jobs|processes|budget_\w+|audit_chains)$/

/** All rows of the database, with the names of their tables. */
function rowsOf({ settings }: TestService): string[] {
  const database = new DatabaseSync(`${settings.dataDir}/agent-core.db`, { readOnly: true })
  try {
    const tables = database.prepare(`select name from sqlite_master where type = 'table' and name not like 'sqlite_%'`).all()
    const names = tables.map(({ name }) => String(name)).filter((name) => !ownTables.test(name))
    return names.flatMap((name) =>
      database
        .prepare(`select * from "${name}"`)
        .all()
        // The ledger has the experiment itself, and nothing of its replays.
        .filter(({ action }) => action !== 'experiment.created')
        .map((row) => `${name} ${toText(row)}`),
    )
  } finally {
    database.close()
  }
}

/** The ledger seals its events in its time. */
function toText({ seq: _seq, hash: _hash, prev_hash: _before, ...row }: Record<string, unknown>): string {
  return JSON.stringify(row)
}

async function filesOf({ settings }: TestService): Promise<string[]> {
  const folders = [settings.filesRoot, path.join(settings.dataDir, 'artifacts')]
  const listed = await Promise.all(folders.map((folder) => readdir(folder, { recursive: true }).catch(() => [])))
  return listed.flat().sort()
}

/** The lines that others do not have. */
function linesOf(lines: readonly string[], others: readonly string[]): string[] {
  const known = new Set(others)
  return lines.filter((line) => !known.has(line))
}

/** The metrics of runs, models and tools. */
async function metricsOf(client: Client): Promise<string[]> {
  const { text } = await client.request('GET', '/metrics')
  return text.split('\n').filter((line) => /^agent_core_(run_|model_|tool_|containment)/.test(line))
}

test('Experiments: no kind of tool writes or reaches anything, whatever the candidate asks for', { timeout: 120_000 }, async (t) => {
  const { client, attacks, reached, service } = await start(t)
  const dataset = await record(client, attacks)
  await until(
    async () => (await client.request('GET', '/core/v1/memories')).body.count as number,
    (count) => count > 0,
  )
  const look = async () => [reached(), await filesOf(service), await metricsOf(client), rowsOf(service)]
  const before = await look()
  const [systems, files, metrics, rows] = before.map(({ length }) => length)
  assert.ok(systems! > 5 && files! > 3 && metrics! > 50 && rows! > 100)
  const candidate = { patch: { instructions: 'You are the candidate.' } }
  const ended = await endOf(client, await startExperiment(client, { dataset_id: dataset, candidate, tools: { on_miss: 'error' } }))
  const after = await look()
  const changed = after.map((lines, n) => ({ added: linesOf(lines, before[n]!), removed: linesOf(before[n]!, lines) }))
  assert.deepEqual(changed, Array(4).fill({ added: [], removed: [] }))
  const all = Object.entries(attacks)
  const writes = all.filter(([, attack]) => attack.writes)
  assert.deepEqual(ended.variants[0].effects, { same: writes.length, added: 0, removed: 0, changed: 0 })
  assert.deepEqual([ended.variants[0].pass_rate, ended.effects.changed], [1, writes.length])
  const { results } = (await client.request('GET', `/core/v1/experiments/${ended.id}/results?limit=100`)).body
  const proposed = (name: string) => results.find(({ example_name: example }: { example_name: string }) => example === name).proposed_writes
  for (const [name, attack] of all) {
    const write = { tool: attack.tool, tool_input: attack.candidate, recorded: false }
    assert.deepEqual(proposed(name), attack.writes ? [write] : [], name)
  }
})

test('Experiments: a variant brings no code, no harmless name for a write, and no tool of a provider that writes', async (t) => {
  const { client, reached, service, sink, evil } = await start(t)
  const { body: dataset } = await client.request('POST', '/core/v1/datasets', { body: { name: 'one' } })
  const example = { input: { messages: [{ role: 'human', content: 'a module that writes' }] } }
  await client.request('POST', `/core/v1/datasets/${dataset.id}/examples`, { body: example })
  const { body: config } = await client.request('GET', '/core/v1/agent/config')
  const { tools } = config.configuration
  const toolNamed = (name: string) => tools.find((tool: { name: string }) => tool.name === name)
  const send = (baseline: object | undefined, live?: string[]) => {
    const body = { dataset_id: dataset.id, ...(baseline && { baseline }), ...(live && { tools: { on_miss: 'live', live } }) }
    return client.request('POST', '/core/v1/experiments', { body })
  }
  const withTool = (tool: object) => ({ patch: { tools: [...tools, tool] } })
  const harmless = { patch: { tools: [{ ...toolNamed('pay'), effect: 'read' }] } }
  const refusals: [string, Awaited<ReturnType<typeof send>>, number, RegExp][] = [
    ['a write', await send(undefined, ['pay']), 422, /"live",0\],"msg":"has effect write"/],
    ['an operation', await send(undefined, ['shop__refund']), 422, /has effect write/],
    [
      'a tool of the provider',
      await send(withTool({ name: 'remote', type: 'provider', config: { tool: 'mcp', server_url: sink.url } })),
      422,
      /remote/,
    ],
    ['a write with another name', await send(harmless, ['pay']), 422, /has its effect from an entry that is not in use/],
    ['a module', await send(withTool({ name: 'evil', type: 'module', config: { path: evil } })), 403, /CONFIG_CODE/],
    ['a command', await send(withTool({ name: 'evil', type: 'mcp', config: { command: 'node', args: [evil] } })), 403, /CONFIG_CODE/],
  ]
  for (const [name, { status, text }, expected, reason] of refusals) {
    assert.equal(status, expected, `${name}: ${text}`)
    assert.match(text, reason, name)
  }
  assert.deepEqual(reached(), ['0 calls of the MCP server'])
  const pinned = { patch: { tools: [{ ...toolNamed('crm'), config: { ...toolNamed('crm').config, pin: true, elicitation: 'deny' } }] } }
  assert.equal((await endOf(client, (await send(pinned)).body.id)).status, 'completed')
  assert.deepEqual([reached(), rowsOf(service).filter((row) => row.startsWith('tool_pins'))], [['0 calls of the MCP server'], []])
})

test('Experiments: tools that are no longer in use are opened for those alone who may change the configuration', async (t) => {
  const { client, service } = await start(t)
  const { body: dataset } = await client.request('POST', '/core/v1/datasets', { body: { name: 'one' } })
  const example = { input: { messages: [{ role: 'human', content: 'a module that writes' }] } }
  await client.request('POST', `/core/v1/datasets/${dataset.id}/examples`, { body: example })
  const { body: before } = await client.request('GET', '/core/v1/agent/config')
  const changed = await client.request('PUT', '/core/v1/agent/config', { body: { configuration: { tools: [{ name: 'chart' }] } } })
  assert.equal(changed.status, 200, changed.text)
  const tester = await service.as({ roles: ['tester'] })
  const send = (body: object) => tester.request('POST', '/core/v1/experiments', { body: { dataset_id: dataset.id, ...body } })
  const refused = await send({ candidate: { version: before.version } })
  assert.equal(refused.status, 403, refused.text)
  assert.match(refused.text, /config\.write/)
  assert.equal((await send({ candidate: { version: changed.body.version } })).status, 202)
})
