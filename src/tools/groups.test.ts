import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { fakeTool } from '../agent/react-fixture.ts'
import type { Tool } from '../agent/tool.ts'
import type { AgentConfig, ToolConfig } from '../configuration/schema.ts'
import { openFilesRoot } from '../files/root.ts'
import type { RefusedTool, ToolGroup, ToolSpec } from './builder.ts'
import { createToolCatalogs, type ToolCatalog } from './catalog.ts'
import { dependenciesOf } from './dependencies-fixture.ts'

/** Entries with several tools, which appear, disappear and become unavailable for a while. */

const folder = await mkdtemp(path.join(tmpdir(), 'groups-'))
after(() => rm(folder, { recursive: true }))
const deps = dependenciesOf({ files: await openFilesRoot(folder), cacheDir: folder })

/** A server whose tools are set by a test. */
class Server {
  tools: readonly Tool[] = []
  refused: readonly RefusedTool[] = []
  trouble: string | undefined
  built = 0
  closed = 0

  group(): ToolGroup {
    this.built++
    return {
      tools: () => this.tools,
      refused: () => this.refused,
      unavailableReason: () => this.trouble,
      close: async () => void this.closed++,
    }
  }
}

function catalogsOf(servers: Record<string, Server>) {
  const builders = { mcp: async () => (spec: ToolSpec) => servers[spec.name]!.group() }
  return createToolCatalogs(deps, { builders })
}

const mcp = (name: string, overrides: Partial<ToolConfig> = {}): ToolConfig => ({ name, type: 'mcp', ...overrides })
const statusesOf = (catalog: ToolCatalog) =>
  catalog.list().map(({ name, status, reason }) => [name, status, ...(reason === undefined ? [] : [reason])])
const approvalsOf = (catalog: ToolCatalog) => catalog.list().map(({ name, tool }) => [name, tool?.approval?.by])

test('the current tools of a group are listed with the name of their entry', async () => {
  const server = new Server()
  const catalog = catalogsOf({ s: server }).open([mcp('s')])
  await catalog.ready()
  server.tools = [fakeTool('s__a'), fakeTool('s__b')]
  assert.deepEqual(statusesOf(catalog), [
    ['s__a', 'ready'],
    ['s__b', 'ready'],
  ])
  assert.deepEqual(
    catalog.list().map(({ entry }) => entry),
    ['s', 's'],
  )
  server.tools = [fakeTool('s__c'), ...server.tools.slice(1)]
  assert.deepEqual(statusesOf(catalog), [
    ['s__c', 'ready'],
    ['s__b', 'ready'],
  ])
  await catalog.close()
  assert.equal(server.closed, 1)
})

test('an entry without tools, or whose server was never reached, is listed under its own name', async () => {
  const server = new Server()
  const catalog = catalogsOf({ s: server }).open([mcp('s', { description: 'Ours.' })])
  assert.deepEqual(statusesOf(catalog), [['s', 'initializing']])
  await catalog.ready()
  assert.deepEqual(statusesOf(catalog), [['s', 'error', 'It has no tools.']])
  server.trouble = 'It does not answer.'
  assert.deepEqual(statusesOf(catalog), [['s', 'error', 'It does not answer.']])
  assert.equal(catalog.list()[0]?.description, 'Ours.')
  server.tools = [fakeTool('s__a')]
  assert.deepEqual(statusesOf(catalog), [['s__a', 'error', 'It does not answer.']])
  assert.equal(catalog.list()[0]?.tool, undefined)
  server.trouble = undefined
  server.refused = [{ name: 's__b', description: '', schema: {}, reason: 'It has changed.' }]
  assert.deepEqual(statusesOf(catalog), [
    ['s__a', 'ready'],
    ['s__b', 'error', 'It has changed.'],
  ])
  await catalog.close()
})

test('reasons do not show secrets in addresses', async () => {
  const server = new Server()
  server.trouble = 'https://me:hunter2@s.example/mcp?key=hunter2 does not answer.'
  const broken = { mcp: async () => () => Promise.reject(new Error('No connection: http://u:hunter2@b.example/')) }
  const catalog = catalogsOf({ s: server }).open([mcp('s')])
  const failed = createToolCatalogs(deps, { builders: broken }).open([mcp('b')])
  await Promise.all([catalog.ready(), failed.ready()])
  const reasons = [catalog, failed].map((catalog) => catalog.list()[0]?.reason)
  assert.equal(reasons[0], 'https://********@s.example/mcp?******** does not answer.')
  assert.match(reasons[1]!, /b\.example/)
  assert.doesNotMatch(String(reasons), /hunter2/)
  await Promise.all([catalog.close(), failed.close()])
})

test('when two tools have the same name, the first is listed', async () => {
  const [first, second] = [new Server(), new Server()]
  first.tools = [fakeTool('a__x', { description: 'first' }), fakeTool('a__x', { description: 'second' })]
  second.tools = [fakeTool('a__x', { description: 'third' }), fakeTool('b__y')]
  const catalog = catalogsOf({ a: first, b: second }).open([mcp('a'), mcp('b')])
  await catalog.ready()
  assert.deepEqual(
    catalog.list().map(({ name, description }) => [name, description]),
    [
      ['a__x', 'first'],
      ['b__y', 'Does b__y.'],
    ],
  )
  await catalog.close()
})

const approvals = (effects: ('read' | 'write')[], by: 'caller' | 'role' = 'caller'): AgentConfig['approvals'] => ({
  effects,
  by,
  expire_after: 60,
})

test('calls need approval as set by the entry, or else by the effect of each tool', async () => {
  const server = new Server()
  server.tools = [fakeTool('s__look'), fakeTool('s__send', { effect: 'write' })]
  const open = (entry: Partial<ToolConfig>, rules?: AgentConfig['approvals']) => catalogsOf({ s: server }).open([mcp('s', entry)], rules)
  const cases: [ToolCatalog, unknown, unknown][] = [
    [open({}), undefined, undefined],
    [open({}, approvals([])), undefined, undefined],
    [open({}, approvals(['write'])), undefined, 'caller'],
    [open({}, approvals(['write', 'read'], 'role')), 'role', 'role'],
    [open({ by: 'role' }, approvals(['write'])), undefined, 'role'],
    [open({ approval: 'required' }), 'caller', 'caller'],
    [open({ approval: 'required', by: 'role' }, approvals(['write'])), 'role', 'role'],
    [open({ approval: 'none', by: 'role' }, approvals(['write', 'read'])), undefined, undefined],
    [open({ approval: 'required' }, approvals([], 'role')), 'role', 'role'],
  ]
  for (const [catalog, look, send] of cases) {
    await catalog.ready()
    assert.deepEqual(approvalsOf(catalog), [
      ['s__look', look],
      ['s__send', send],
    ])
  }
  // A tool that is added later follows the same rule.
  const last = cases.at(-1)![0]
  server.tools = [fakeTool('s__new')]
  assert.deepEqual(approvalsOf(last), [['s__new', 'role']])
  await Promise.all(cases.map(([catalog]) => catalog.close()))
})

test('a change of approvals keeps the connection, and each configuration has its own rules', async () => {
  const server = new Server()
  server.tools = [fakeTool('s__send', { effect: 'write' })]
  const catalogs = catalogsOf({ s: server })
  const first = catalogs.open([mcp('s')], approvals([]))
  await first.ready()
  const second = catalogs.open([mcp('s', { approval: 'required' })], approvals(['write']))
  const third = catalogs.open([mcp('s', { by: 'role' })], approvals(['write']))
  const fourth = catalogs.open([mcp('s', { approval: 'none' })], approvals(['write']))
  await Promise.all([second.ready(), third.ready(), fourth.ready()])
  assert.equal(server.built, 1)
  assert.deepEqual([first, second, third, fourth].map(approvalsOf), [
    [['s__send', undefined]],
    [['s__send', 'caller']],
    [['s__send', 'role']],
    [['s__send', undefined]],
  ])
  // The gated tool is the same object in every listing of a configuration.
  assert.equal(second.list()[0]?.tool, second.list()[0]?.tool)
  await Promise.all([first, second, third].map((catalog) => catalog.close()))
  assert.equal(server.closed, 0)
  assert.equal(fourth.list()[0]?.status, 'ready')
  await fourth.close()
  assert.equal(server.closed, 1)
  assert.equal(server.built, 1)
})

test('an entry with other settings is built again', async () => {
  const server = new Server()
  const catalogs = catalogsOf({ s: server })
  const entries = [mcp('s'), mcp('s', { effect: 'read' }), mcp('s', { timeout: 3 }), mcp('s', { config: { url: 'http://a/' } })]
  const opened = entries.map((entry) => catalogs.open([entry]))
  await Promise.all(opened.map((catalog) => catalog.ready()))
  assert.equal(server.built, entries.length)
  await Promise.all(opened.map((catalog) => catalog.close()))
})

test('the effect of an entry is passed to its builder', async () => {
  const effects: unknown[] = []
  const builders = {
    mcp: async () => (spec: ToolSpec) => (effects.push([spec.name, spec.effect]), new Server().group()),
  }
  const catalog = createToolCatalogs(deps, { builders }).open([mcp('a', { effect: 'read' }), mcp('b')])
  await catalog.ready()
  assert.deepEqual(effects, [
    ['a', 'read'],
    ['b', undefined],
  ])
  await catalog.close()
})
