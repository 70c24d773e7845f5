import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import { fakeTool } from '../../agent/react-fixture.ts'
import { toAgentConfig } from '../../configuration/parse.ts'
import { agentOf } from '../../runs/process-fixture.ts'
import { call, caseOf, modelOf, tryOut } from './case-fixture.ts'
import { faultOfLive, noTool, toLiveReads } from './live.ts'

const nothing = toAgentConfig({})
const scopeOf = (tools: readonly Tool[], config: object = {}, inUse: object = {}) => ({
  agent: agentOf({ model: modelOf(), tools, config }),
  inUse: toAgentConfig(inUse),
  writesInUse: () => false,
})

test('only tools that read may run, as a conversation of their own, without the headers of the caller', async () => {
  const made = await caseOf(modelOf([call('look', { n: 1 })]))
  const contexts: ToolContext[] = []
  const look = fakeTool('look', { execute: async (_input, context) => contexts.push(context) })
  const tools = [look, ...made.tools.filter(({ name }) => name !== 'look')]
  const scope = scopeOf(tools)
  const reads = toLiveReads(['look', 'refund', 'absent'], scope)
  assert.deepEqual([...reads.keys()], ['look'])
  const faults = ['look', 'refund', 'absent', 'peek'].map((name) => faultOfLive(name, scope))
  const ofPerson = 'waits for the approval of a person'
  assert.deepEqual(faults, [undefined, 'has effect write', noTool, ofPerson])
  const calls = [call('look', { n: 5 }), call('refund', { n: 5 })]
  const replayed = await tryOut({ ...made, tools }, modelOf(calls), { onMiss: 'live', live: reads })
  assert.deepEqual(
    contexts.map(({ session, sessionId, headers, maySuspend, sample }) => [session, sessionId, headers, maySuspend, sample]),
    [['replay', 'replay', {}, undefined, undefined]],
  )
  assert.deepEqual(
    replayed.writes.map(({ tool, recorded }) => [tool, recorded]),
    [['refund', false]],
  )
})

test('a tool whose server has made it a write since is noted, not run', async () => {
  const made = await caseOf(modelOf())
  const listed = agentOf({ model: modelOf(), tools: made.tools })
  let effect: Tool['effect'] = 'read'
  const list = () => listed.tools.list().map((listing) => ({ ...listing, tool: { ...listing.tool!, effect } }))
  const changing = { ...listed, tools: { ...listed.tools, list } }
  const live = toLiveReads(['look'], { agent: changing, inUse: nothing, writesInUse: () => false })
  effect = 'write'
  const { writes, events } = await tryOut(made, modelOf([call('look', { n: 5 })]), { onMiss: 'live', live })
  assert.deepEqual(writes, [{ tool: 'look', tool_input: { n: 5 }, n: null, recorded: false }])
  assert.deepEqual(
    events.flatMap((event) => (event.type === 'step_end' ? [event.step.output] : [])),
    [{ simulated: true }],
  )
})

test('a call that containment holds, and that nobody has approved, does not run live', async () => {
  const made = await caseOf(modelOf([call('look', { n: 1 })]))
  const marks = { trust: 'untrusted', private: true, outbound: true } as const
  const tools = made.tools.map((tool): Tool => ({
    ...tool,
    marks,
    destinationOf: () => ({ url: 'https://x.test/', isSafe: true, isBare: true }),
  }))
  const config = { containment: { outbound: 'approve' } }
  const live = toLiveReads(['look'], scopeOf(tools, config))
  const model = modelOf([call('look', { n: 1 })], [call('look', { n: 5 })])
  const before = made.receiver.calls.length
  const { events } = await tryOut({ ...made, tools, config }, model, { onMiss: 'live', live })
  assert.equal(events.filter(({ type }) => type === 'interrupt').length, 1)
  assert.equal(made.receiver.calls.length, before)
})

test('a variant cannot declare its own tool harmless; an entry in use may', () => {
  const tools = [fakeTool('refund', { effect: 'read' })]
  const entry = { name: 'refund', type: 'module', effect: 'read', config: { path: 'refund.mjs' } }
  const fault = 'has its effect from an entry that is not in use'
  assert.equal(faultOfLive('refund', scopeOf(tools, { tools: [entry] })), fault)
  assert.equal(faultOfLive('refund', scopeOf(tools, { tools: [entry] }, { tools: [{ ...entry, effect: 'write' }] })), fault)
  assert.equal(faultOfLive('refund', scopeOf(tools, { tools: [entry] }, { tools: [entry] })), undefined)
})

test('a tool that sends the headers of its caller may not run live', () => {
  const tools = [fakeTool('crm', { effect: 'read' })]
  const entry = { name: 'crm', type: 'http_request', config: { methods: ['GET'], context_hosts: ['crm.test'] } }
  assert.match(faultOfLive('crm', scopeOf(tools, { tools: [entry] }))!, /needs the stix\* headers/)
})
