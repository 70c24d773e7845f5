import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { keepNothing, contextOf } from '../agent/react-fixture.ts'
import { runTool } from '../agent/run-tool.ts'
import { toolTypes } from '../configuration/tool-types.ts'
import { openFilesRoot } from '../files/root.ts'
import { createTool, type ToolBuild, type ToolSpec } from './builder.ts'
import { createToolCatalog, createToolCatalogs, knownToolTypes } from './catalog.ts'
import { dependenciesOf } from './dependencies-fixture.ts'

const folder = await mkdtemp(path.join(tmpdir(), 'catalog-'))
after(() => rm(folder, { recursive: true }))
await mkdir(path.join(folder, 'files'))
await writeFile(path.join(folder, 'files', 'leave.md'), '# Leave\n\n25 days.')
const deps = dependenciesOf({ files: await openFilesRoot(path.join(folder, 'files')), cacheDir: path.join(folder, 'cache') })

function createEcho(spec: ToolSpec, closed?: string[]): ToolBuild {
  const schema = { type: 'object' }
  const tool = createTool(spec, { description: 'Echoes.', schema, effect: 'read', filters: false, execute: async (input) => input })
  return { tool, close: async () => void closed?.push(spec.name) }
}

test('every tool type of the configuration schema has a builder', () => {
  assert.deepEqual([...knownToolTypes].sort(), Object.keys(toolTypes).sort())
})

test('tools are listed in the order of the configuration, as initializing until they are ready', async () => {
  const catalog = createToolCatalog(
    {
      tools: [
        { name: 'handbook', type: 'knowledge_search', config: { paths: ['**'] } },
        { name: 'current_time' },
        { name: 'read_file', timeout: 0.5 },
      ],
    },
    deps,
  )
  assert.deepEqual(
    catalog.list().map(({ status, tool }) => [status, tool]),
    Array(3).fill(['initializing', undefined]),
  )
  await catalog.ready()
  assert.deepEqual(
    catalog.list().map(({ name, status }) => [name, status]),
    [
      ['handbook', 'ready'],
      ['current_time', 'ready'],
      ['read_file', 'ready'],
    ],
  )
  const [handbook, , reader] = catalog.list()
  assert.match(handbook?.description ?? '', /Leave/)
  assert.deepEqual([handbook?.tool?.timeoutMs, handbook?.tool?.maxOutputCharacters, reader?.tool?.timeoutMs], [30_000, 20_000, 500])
  await catalog.close()
})

test('a tool of the catalog runs', async () => {
  const catalog = createToolCatalog({ tools: [{ name: 'sums', type: 'calculator', description: 'Our sums.' }] }, deps)
  await catalog.ready()
  const tool = catalog.list()[0]?.tool
  assert.ok(tool)
  assert.deepEqual({ name: tool.name, description: tool.description }, { name: 'sums', description: 'Our sums.' })
  const context = contextOf()
  const outcome = await runTool(
    tool,
    { expression: '17% of 2,340' },
    { context, keepArtifact: keepNothing, signal: new AbortController().signal, now: () => 0 },
  )
  assert.deepEqual(outcome.output, { expression: '17% of 2,340', result: '397.8' })
  await catalog.close()
})

test('a tool that cannot be built is listed with a reason and does not affect the others', async () => {
  const builders = {
    broken: async () => () => {
      throw new Error('The disk is full.')
    },
    missing: async () => Promise.reject(new Error('No such module.')),
    echo: async () => (spec: ToolSpec) => createEcho(spec),
  }
  const catalog = createToolCatalog(
    { tools: [{ name: 'broken' }, { name: 'missing' }, { name: 'nothing' }, { name: 'constructor' }, { name: 'echo' }] },
    deps,
    { builders },
  )
  await catalog.ready()
  assert.deepEqual(
    catalog.list().map(({ name, status, reason }) => [name, status, reason]),
    [
      ['broken', 'error', 'The disk is full.'],
      ['missing', 'error', 'No such module.'],
      ['nothing', 'error', 'There is no tool type nothing; there are broken, missing, echo.'],
      ['constructor', 'error', 'There is no tool type constructor; there are broken, missing, echo.'],
      ['echo', 'ready', undefined],
    ],
  )
  await catalog.close()
})

test('a tool that failed is built again until it succeeds', async () => {
  const delays: number[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  let attempts = 0
  const builders = {
    shy: async () => (spec: ToolSpec) => {
      if (++attempts < 4) throw new Error(`attempt ${attempts}`)
      resolve()
      return createEcho(spec)
    },
  }
  const catalog = createToolCatalog({ tools: [{ name: 'shy' }] }, deps, {
    builders,
    retryDelayMs: (failures) => (delays.push(failures), 1),
  })
  await catalog.ready()
  assert.equal(catalog.list()[0]?.status, 'error')
  // The timers of the catalog do not keep the process alive; this timer does.
  const awake = setTimeout(() => {}, 10_000)
  await promise
  clearTimeout(awake)
  await new Promise((next) => setImmediate(next))
  assert.equal(catalog.list()[0]?.status, 'ready')
  assert.deepEqual({ attempts, delays }, { attempts: 4, delays: [1, 2, 3] })
  await catalog.close()
})

test('settling waits for the first build, up to a limit', async () => {
  const gate = Promise.withResolvers<ToolBuild>()
  const builders = { slow: async () => () => gate.promise, quick: async () => (spec: ToolSpec) => createEcho(spec) }
  const quick = createToolCatalog({ tools: [{ name: 'quick' }] }, deps, { builders })
  assert.ok(quick.settling())
  await quick.settling()
  assert.deepEqual({ settling: quick.settling(), status: quick.list()[0]?.status }, { settling: undefined, status: 'ready' })

  const slow = createToolCatalog({ tools: [{ name: 'slow' }, { name: 'quick' }] }, deps, { builders, settleMs: 10 })
  const awake = setTimeout(() => {}, 10_000)
  await slow.settling()
  clearTimeout(awake)
  assert.deepEqual([slow.settling(), ...slow.list().map(({ status }) => status)], [undefined, 'initializing', 'ready'])
  gate.reject(new Error('given up'))
  await slow.ready()
  await slow.close()
})

test('closing a catalog closes its tools, including a tool built later, and stops all retries', async () => {
  const closed: string[] = []
  const gate = Promise.withResolvers<void>()
  let attempts = 0
  const builders = {
    quick: async () => (spec: ToolSpec) => createEcho(spec, closed),
    slow: async () => async (spec: ToolSpec) => {
      await gate.promise
      return createEcho(spec, closed)
    },
    broken: async () => () => {
      attempts++
      throw new Error('broken')
    },
  }
  const catalog = createToolCatalog({ tools: [{ name: 'quick' }, { name: 'slow' }, { name: 'broken' }] }, deps, {
    builders,
    retryDelayMs: () => 5,
  })
  await new Promise((next) => setImmediate(next))
  await catalog.close()
  assert.deepEqual(closed, ['quick'])
  gate.resolve()
  await catalog.ready()
  await new Promise((next) => setTimeout(next, 20))
  assert.deepEqual(
    { closed, attempts, status: catalog.list()[1]?.status },
    { closed: ['quick', 'slow'], attempts: 1, status: 'initializing' },
  )
})

test('a tool of an unchanged entry is reused by the next catalog and closed with the last catalog that uses it', async () => {
  const closed: string[] = []
  const built: string[] = []
  const builders = {
    echo: async () => (spec: ToolSpec) => {
      built.push(spec.name)
      return createEcho(spec, closed)
    },
  }
  const catalogs = createToolCatalogs(deps, { builders })
  const entry = (name: string, config = {}) => ({ name, type: 'echo', config })
  const first = catalogs.open([entry('kept', { a: 1, b: 2 }), entry('changed', { a: 1 }), entry('removed')])
  await first.ready()
  const second = catalogs.open([entry('changed', { a: 2 }), entry('kept', { b: 2, a: 1 })])
  await second.ready()
  assert.deepEqual(built, ['kept', 'changed', 'removed', 'changed'])
  assert.equal(second.list()[1]?.tool, first.list()[0]?.tool)
  await first.close()
  await first.close()
  assert.deepEqual(closed, ['changed', 'removed'])
  await second.close()
  assert.deepEqual(closed, ['changed', 'removed', 'changed', 'kept'])
})

test('a configuration that is tried out shares the entries in use, and stores no pins', async () => {
  let builds = 0
  const builders = {
    server:
      async () =>
      async (spec: ToolSpec, { pins }: Pick<typeof deps, 'pins'>) => {
        builds++
        await pins.save({ entry: spec.name, server: String(spec.config['url']), tools: {} }, 0)
        return createEcho(spec)
      },
  }
  const catalogs = createToolCatalogs(deps, { builders })
  const entryOf = (url: string) => [{ name: 'crm', type: 'server', config: { url } }]
  const inUse = catalogs.open(entryOf('a'))
  const same = catalogs.open(entryOf('a'), undefined, { isTrial: true })
  const other = catalogs.open(entryOf('b'), undefined, { isTrial: true })
  await Promise.all([inUse.ready(), same.ready(), other.ready()])
  assert.deepEqual([builds, (await deps.pins.list()).map(({ server }) => server)], [2, ['a']])
  assert.equal(other.list()[0]?.status, 'ready')
  const next = catalogs.open(entryOf('b'))
  await next.ready()
  assert.deepEqual([builds, (await deps.pins.list()).map(({ server }) => server)], [3, ['a', 'b']])
  await Promise.all([inUse, same, other, next].map((catalog) => catalog.close()))
})
