import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Model } from '../agent/model.ts'
import { type AgentParts, createAgents } from './agent.ts'
import { parseAgentConfig } from './parse.ts'

const model: Model = {
  name: 'none',
  seesImages: false,
  reply: () => Promise.reject(new Error('not asked')),
}

function parts(version: string, closed: string[]): AgentParts {
  const tools = { list: () => [], search: () => [], settling: () => undefined, close: async () => void closed.push(version) }
  return { version, config: parseAgentConfig(''), model, small: undefined, embedder: undefined, findPrices: () => undefined, tools }
}

const onError = (error: unknown) => assert.fail(String(error))

test('swap takes effect at once; the former agent is closed when the last run has ended', () => {
  const closed: string[] = []
  const agents = createAgents(parts('a', closed), { onError })
  const first = agents.current()
  const [release, releaseOther] = [first.hold(), first.hold()]
  agents.swap(parts('b', closed))
  assert.deepEqual([agents.current().version, first.version, closed], ['b', 'a', []])
  release()
  release()
  assert.deepEqual(closed, [])
  releaseOther()
  assert.deepEqual(closed, ['a'])
})

test('an unused agent is closed as soon as another agent becomes current; the current agent stays open', () => {
  const closed: string[] = []
  const agents = createAgents(parts('a', closed), { onError })
  agents.current().hold()()
  assert.deepEqual(closed, [])
  agents.swap(parts('b', closed))
  assert.deepEqual(closed, ['a'])
})

test('close closes each agent once, including held agents', async () => {
  const closed: string[] = []
  const agents = createAgents(parts('a', closed), { onError })
  const release = agents.current().hold()
  agents.swap(parts('b', closed))
  await agents.close()
  release()
  assert.deepEqual(closed.toSorted(), ['a', 'b'])
})

test('a tool that cannot be closed is reported, and other work continues', async () => {
  const told: unknown[] = []
  const broken = {
    ...parts('a', []),
    tools: { list: () => [], search: () => [], settling: () => undefined, close: () => Promise.reject(new Error('stuck')) },
  }
  const agents = createAgents(broken, { onError: (error) => told.push(error) })
  agents.swap(parts('b', []))
  await agents.close()
  assert.deepEqual(told.map(String), ['Error: stuck'])
})
