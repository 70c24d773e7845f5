import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkConfig } from '../configuration/check.ts'
import { parseAgentConfig } from '../configuration/parse.ts'
import { redactConfig } from '../configuration/redact.ts'
import { findTool } from '../runs/tool-executions/tool-execution.ts'
import { createProviderTool } from './provider.ts'

const limits = { timeoutMs: 1000, maxOutputCharacters: 1000 }
const docs = {
  tool: 'mcp',
  price: 0.01,
  server_url: 'https://${HOST}/mcp',
  authorization: '${TOKEN}',
  headers: { 'x-key': 'k ${TOKEN}' },
  allowed_tools: ['search'],
}
const problemsOf = (change: object) => checkConfig({ tools: [], ...change }).problems.map(({ at, message }) => `${at.join('.')} ${message}`)

test('a tool of the provider is offered with its settings, whose references are resolved at each use', () => {
  const environment: Record<string, string> = { HOST: 'docs.example', TOKEN: 'secret-1' }
  const { tool } = createProviderTool({ name: 'docs', ...limits, config: docs }, { environment })
  const config = {
    allowed_tools: ['search'],
    server_url: 'https://docs.example/mcp',
    authorization: 'secret-1',
    headers: { 'x-key': 'k secret-1' },
  }
  assert.deepEqual(tool.provider, { tool: 'mcp', config })
  environment['TOKEN'] = 'secret-2'
  assert.equal(tool.provider?.config['authorization'], 'secret-2')
})

test('a variable that is not set fails the building of the tool, by its name', () => {
  const spec = { name: 'docs', ...limits, config: docs }
  assert.throws(() => createProviderTool(spec, { environment: { HOST: 'a' } }), /TOKEN is not set/)
})

test('a remote MCP server may change something, the other kinds only read, unless the entry says otherwise', () => {
  const effectOf = (tool: string, effect?: 'read' | 'write') => {
    const spec = { name: 't', ...limits, config: { tool }, ...(effect && { effect }) }
    return createProviderTool(spec, { environment: {} }).tool.effect
  }
  assert.deepEqual([effectOf('web_search'), effectOf('mcp'), effectOf('mcp', 'read')], ['read', 'write', 'read'])
})

test('the service never runs a tool of the provider', async () => {
  const { tool } = createProviderTool({ name: 'web_search', ...limits, config: { tool: 'web_search' } }, { environment: {} })
  await assert.rejects(tool.execute({}, {} as never), /web_search runs at the provider of the model/)
  const listing = { name: 'web_search', description: '', status: 'ready' as const, schema: {}, tool }
  const request = { toolName: 'web_search', input: {}, filters: [] }
  await assert.rejects(findTool({ list: () => [listing] } as never, request as never), {
    code: 'invalid_input',
    message: 'tool_name: web_search runs at the provider of the model: only a model can use it, in a chat.',
  })
})

test('an approval is refused, because the provider runs a call before the service hears of it', () => {
  const search = { name: 'web_search', type: 'provider', config: { tool: 'web_search' } }
  assert.match(
    String(problemsOf({ tools: [{ ...search, approval: 'required' }] })),
    /^tools.0.approval cannot be `required`.*the provider runs/,
  )
  const remote = { name: 'docs', type: 'provider', config: { tool: 'mcp', server_url: 'https://a.example' } }
  const approvals = { effects: ['write'] }
  assert.deepEqual(problemsOf({ tools: [search], approvals }), [])
  assert.match(String(problemsOf({ tools: [remote], approvals })), /^tools.0.approval `approvals.effects` has `write`/)
  assert.deepEqual(problemsOf({ tools: [{ ...remote, effect: 'read' }], approvals }), [])
  assert.deepEqual(problemsOf({ tools: [{ ...remote, approval: 'none' }], approvals }), [])
})

test('the settings are open, and their size, the kind and the address are checked', () => {
  const entry = (config: object) => ({ tools: [{ name: 'x', type: 'provider', config }] })
  assert.deepEqual(
    problemsOf(entry({ tool: 'web_search', max_uses: 3, allowed_domains: ['a.example'], user_location: { country: 'CH' } })),
    [],
  )
  assert.match(String(problemsOf(entry({ tool: 'telepathy' }))), /tools.0.config.tool/)
  assert.match(String(problemsOf(entry({ tool: 'mcp' }))), /tools.0.config.server_url is required/)
  assert.match(String(problemsOf(entry({ tool: 'web_search', filter: 'x'.repeat(20_000) }))), /the limit is 16384/)
  assert.match(String(problemsOf(entry({ tool: 'web_search', filter: null }))), /tools.0.config.filter/)
})

test('the secrets of a tool of the provider are masked', () => {
  const config = parseAgentConfig(`
tools:
  - {name: docs, type: provider, config: {tool: mcp, server_url: "https://a.example/mcp", authorization: hunter2, headers: {x-key: hunter2}}}
`)
  assert.doesNotMatch(JSON.stringify(redactConfig(config)), /hunter2/)
})
