import assert from 'node:assert/strict'
import type { ModelRequest, RequestedCall } from '../../agent/model.ts'
import type { Tool } from '../../agent/tool.ts'
import { agentOf } from '../../runs/process-fixture.ts'
import type { Example } from '../example.ts'
import { exampleFromRun } from '../from-run.ts'
import { FunctionModel, Receiver, toolsOf } from '../recorded-parts-fixture.ts'
import { ann, record, type Recorded } from '../recorded-run-fixture.ts'
import type { Replayed, ReplayOptions, ReplayPorts } from './options.ts'
import { replay } from './replay.ts'

export const { signal } = new AbortController()
export const call = (name: string, input: object): RequestedCall => ({ name, arguments: JSON.stringify(input) })

/** A model that makes these calls, one list for each turn, then answers. */
export function modelOf(...turns: RequestedCall[][]): FunctionModel {
  return new FunctionModel(({ messages }: ModelRequest) => {
    const replies = messages.filter(({ role }) => role === 'assistant').length
    return { events: [{ type: 'text', text: 'Done.' }], calls: turns[replies] ?? [] }
  })
}

export interface Case {
  recorded: Recorded
  example: Example
  receiver: Receiver
  tools: Tool[]
}

/** The example of a run whose model makes these calls. */
export async function caseOf(model: FunctionModel, options: Partial<Parameters<typeof record>[0]> = {}): Promise<Case> {
  const receiver = new Receiver()
  const tools = toolsOf(receiver, () => 0)
  const recorded = await record({ agent: agentOf({ model, tools }), model, receiver, ...options })
  const example = JSON.parse(JSON.stringify(exampleFromRun(recorded.recorded, { id: 'e', name: 'e', configVersion: '1' }))) as Example
  return { recorded, example, receiver, tools }
}

/** Replays an example with another model, and maintains that no tool is reached. */
export async function tryOut(
  { recorded, example, receiver, tools }: Case,
  model: FunctionModel,
  options: Partial<ReplayOptions> = {},
  ports: Partial<ReplayPorts> = {},
): Promise<Replayed> {
  const before = receiver.calls.length
  const agent = agentOf({ model, tools })
  const replayed = await replay({ example, agent, owner: ann, requestId: 'replay', signal, ...options }, { ...recorded.ports, ...ports })
  const reached = receiver.calls.slice(before)
  const live = options.live ?? new Map()
  assert.deepEqual(
    reached.filter(({ tool }) => !live.has(tool)),
    [],
  )
  return replayed
}
