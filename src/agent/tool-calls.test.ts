import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { AgentEvent } from './events.ts'
import { runAgent } from './loop.ts'
import { eventsOf, fakeTool, gate, optionsOf, story } from './react-fixture.ts'
import { call, say, ScriptedModel } from './scripted-model.ts'
import { scopeOf } from './options.ts'
import type { DataFilter, ToolContext } from './tool.ts'

/** A tool whose calls end when they are let go, each by its `n`. */
function heldTool(name: string, effect: 'read' | 'write') {
  const gates = new Map<number, ReturnType<typeof gate>>()
  const started: number[] = []
  const gateOf = (n: number) => gates.get(n) ?? gates.set(n, gate()).get(n)!
  const tool = fakeTool(name, {
    effect,
    execute: async ({ n }) => {
      started.push(Number(n))
      await gateOf(Number(n)).opened
      return `${name} ${Number(n)}`
    },
  })
  return { tool, started, letGo: (n: number) => gateOf(n).open() }
}

const asksFor = (name: string, ...numbers: number[]) => numbers.map((n) => call(name, { n }))

test('reads of one turn overlap, their ends are published at once, the transcript keeps the order asked', async () => {
  const read = heldTool('read', 'read')
  const model = new ScriptedModel(say('', ...asksFor('read', 1, 2, 3)), say('Done.'))
  const options = optionsOf(model, { tools: [read.tool] })
  const events = await eventsOf(options, (event) => {
    if (event.type === 'step_start' && event.step.id === 'c3') setImmediate(() => read.letGo(3))
    if (event.type === 'step_end' && event.step.id === 'c3') read.letGo(1)
    if (event.type === 'step_end' && event.step.id === 'c1') read.letGo(2)
  })
  assert.deepEqual(story(events), [
    'turn',
    'c1 starts: read {"n":1}',
    'c2 starts: read {"n":2}',
    'c3 starts: read {"n":3}',
    'c3 result: read 3',
    'c3 ends: success',
    'c1 result: read 1',
    'c1 ends: success',
    'c2 result: read 2',
    'c2 ends: success',
    'answer: Done.',
    'turn',
    'end: stop',
  ])
  assert.deepEqual(
    model.requests[1]?.messages.slice(2).map((message) => message.text),
    ['read 1', 'read 2', 'read 3'],
  )
})

test('reads beyond eight wait for a free slot', async () => {
  const read = heldTool('read', 'read')
  const model = new ScriptedModel(say('', ...asksFor('read', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)), say('Done.'))
  let startedBeforeFirstEnd = 0
  const events = await eventsOf(optionsOf(model, { tools: [read.tool] }), (event) => {
    if (event.type === 'step_start' && event.step.id === 'c8') setImmediate(() => read.letGo(5))
    if (event.type !== 'step_end') return
    startedBeforeFirstEnd ||= read.started.length
    for (let n = 1; n <= 10; n++) read.letGo(n)
  })
  assert.equal(startedBeforeFirstEnd, 8)
  assert.equal(events.filter((event) => event.type === 'step_end').length, 10)
})

test('a write starts when the result of the previous write is stored', async () => {
  const write = heldTool('write', 'write')
  const stored = gate()
  const reached = gate()
  const events: AgentEvent[] = []
  const model = new ScriptedModel(say('', ...asksFor('write', 1, 2)), say('Done.'))
  const running = runAgent(optionsOf(model, { tools: [write.tool] }), (event) => {
    events.push(event)
    if (event.type !== 'result' || event.message.callId !== 'c1') return undefined
    reached.open()
    return stored.opened
  })
  write.letGo(1)
  write.letGo(2)
  await reached.opened
  await new Promise(setImmediate)
  assert.deepEqual(write.started, [1])
  stored.open()
  await running
  assert.deepEqual(write.started, [1, 2])
  assert.deepEqual(story(events).slice(0, 5), [
    'turn',
    'c1 starts: write {"n":1}',
    'c1 result: write 1',
    'c2 starts: write {"n":2}',
    'c2 result: write 2',
  ])
})

test('a read runs beside a write', async () => {
  const read = heldTool('read', 'read')
  const write = heldTool('write', 'write')
  const model = new ScriptedModel(say('', ...asksFor('read', 1), ...asksFor('write', 2, 3)), say('Done.'))
  const events = await eventsOf(optionsOf(model, { tools: [read.tool, write.tool] }), (event) => {
    if (event.type === 'step_start' && event.step.id === 'c1') setImmediate(() => write.letGo(2))
    if (event.type === 'step_start' && event.step.id === 'c3') setImmediate(() => read.letGo(1))
    if (event.type === 'step_end' && event.step.id === 'c1') write.letGo(3)
  })
  assert.deepEqual(story(events).slice(1, -3), [
    'c2 starts: write {"n":2}',
    'c1 starts: read {"n":1}',
    'c2 result: write 2',
    'c2 ends: success',
    'c3 starts: write {"n":3}',
    'c1 result: read 1',
    'c1 ends: success',
    'c3 result: write 3',
    'c3 ends: success',
  ])
})

const sales: DataFilter = { tool: 'sales', key: 'region', type: 'equals', value: 'EU' }

test('a call gets its id, the headers and its own filters, and cannot read files of other filtered tools', async () => {
  const contexts: ToolContext[] = []
  const execute = async (_: unknown, context: ToolContext) => contexts.push(context)
  const readsFile = (path: string) => path === 'sales.csv'
  const tools = [fakeTool('sales', { execute, readsFile, filters: true }), fakeTool('read_file', { execute })]
  const model = new ScriptedModel(say('', call('sales', {}), call('read_file', {})), say('Done.'))
  await eventsOf(optionsOf(model, { tools, filters: [sales], headers: { 'stix-user': 'u1' } }))
  assert.deepEqual(
    contexts.map(({ callId, headers, filters, isWithheld }) => ({
      callId,
      headers,
      filters,
      withheld: ['sales.csv', 'other.csv'].filter((path) => isWithheld(path)),
    })),
    [
      { callId: 'c1', headers: { 'stix-user': 'u1' }, filters: [sales], withheld: [] },
      { callId: 'c2', headers: { 'stix-user': 'u1' }, filters: [], withheld: ['sales.csv'] },
    ],
  )
})

test('a tool that no longer supports its filters does not run', async () => {
  const tools = [fakeTool('sales', { execute: () => assert.fail('It was run.') })]
  const model = new ScriptedModel(say('', call('sales', {})), say('Done.'))
  const events = await eventsOf(optionsOf(model, { tools, filters: [sales] }))
  assert.ok(story(events).includes("c1 result (error): sales can't be used here: its data is to be filtered, and it has no filters."))
})

test('without hints nothing is withheld', () => {
  const tools = [fakeTool('sales', { readsFile: () => true }), fakeTool('read_file')]
  assert.equal(scopeOf(tools[1]!, tools, []).isWithheld('sales.csv'), false)
})

test('a tool changes its description where hints hide data, and only there', async () => {
  const described = fakeTool('sales', { describe: ({ filters }) => `Sales, ${filters.length} filter.` })
  for (const [filters, expected] of [
    [[], 'Does sales.'],
    [[sales], 'Sales, 1 filter.'],
  ] as const) {
    const model = new ScriptedModel(say('Hi.'))
    await eventsOf(optionsOf(model, { tools: [described, fakeTool('look')], filters }))
    assert.deepEqual(
      model.requests[0]?.tools.map((tool) => tool.description),
      [expected, 'Does look.'],
    )
  }
})

test('a filter on a missing tool withholds every file', () => {
  const reader = fakeTool('read_file')
  const { isWithheld, filters } = scopeOf(reader, [reader], [{ tool: 'sales', key: 'region', type: 'equals', value: 'North' }])
  assert.equal(isWithheld('handbook/leave.md'), true)
  assert.deepEqual(filters, [])
})
