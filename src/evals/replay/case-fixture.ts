import assert from 'node:assert/strict'
import type { RequestedCall } from '../../agent/model.ts'
import type { Tool } from '../../agent/tool.ts'
import { agentOf } from '../../runs/process-fixture.ts'
import type { Example } from '../example.ts'
import { type FunctionModel, Receiver, toolsOf } from '../recorded-parts-fixture.ts'
import { ann, modelOfTurns as modelOf, record, toStored, type Recorded } from '../recorded-run-fixture.ts'
import type { Replayed, ReplayOptions, ReplayPorts } from './options.ts'
import { replay } from './replay.ts'

export { modelOf }

export const { signal } = new AbortController()
export const call = (name: string, input: object): RequestedCall => ({ name, arguments: JSON.stringify(input) })

export interface Case {
  recorded: Recorded
  example: Example
  receiver: Receiver
  tools: readonly Tool[]
  /** Parts of the agent.yaml of the candidate. */
  config?: object
}

/** The example of a run whose model makes these calls. */
export async function caseOf(
  model: FunctionModel,
  { tools: more = [], ...options }: Partial<Parameters<typeof record>[0]> & { tools?: readonly Tool[] } = {},
): Promise<Case> {
  const receiver = new Receiver()
  const tools = [...toolsOf(receiver, () => 0), ...more]
  const recorded = await record({ agent: agentOf({ model, tools }), model, receiver, ...options })
  const { example, readMedia } = await toStored(recorded)
  return { recorded: { ...recorded, ports: { ...recorded.ports, readMedia } }, example, receiver, tools }
}

/** Replays an example with another model, and maintains that no tool is reached. */
export async function tryOut(
  { recorded, example, receiver, tools, config = {} }: Case,
  model: FunctionModel,
  options: Partial<ReplayOptions> = {},
  ports: Partial<ReplayPorts> = {},
): Promise<Replayed> {
  const before = receiver.calls.length
  const agent = agentOf({ model, tools, config })
  const replayed = await replay({ example, agent, owner: ann, requestId: 'replay', signal, ...options }, { ...recorded.ports, ...ports })
  const reached = receiver.calls.slice(before)
  const live = options.live ?? new Map()
  assert.deepEqual(
    reached.filter(({ tool }) => !live.has(tool)),
    [],
  )
  return replayed
}
