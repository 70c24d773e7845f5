import { setTimeout as delay } from 'node:timers/promises'
import type { Decision, PendingCall } from '../agent/approval.ts'
import type { NewArtifact, Artifact } from '../agent/messages.ts'
import type { Agent } from '../configuration/agent.ts'
import { execute } from '../runs/execution/execute.ts'
import type { ExecutionPorts } from '../runs/execution/ports.ts'
import { MemoryRunStore } from '../runs/memory-run-store-fixture.ts'
import { runKeyText } from '../runs/ownership/run-registry.ts'
import { LiveRun } from '../runs/ownership/live-run.ts'
import { agentOf, ann, keyOf, newRun, portsOf } from '../runs/process-fixture.ts'
import type { ChatRequest, LoggedEvent } from '../runs/run.ts'
import type { Turn } from '../runs/run-store.ts'
import type { RecalledMemories } from '../memory/recall.ts'
import type { DecidedCall } from '../runs/trace/span.ts'
import type { SubAgent } from '../sub-agents/sub-agent-store.ts'
import { fromCompact } from '../runs/log/compact-log.ts'
import { randomModel, randomOf, Receiver, subAgentOf, toolsOf, type FunctionModel } from './recorded-parts-fixture.ts'
import { readRecordedRun, type RecordedRun } from './from-run.ts'
import type { ReplayPorts } from './replay/options.ts'
import { createReplayedSubAgents } from './replay/sub-agents.ts'

export interface Recorded {
  recorded: RecordedRun
  agent: Agent
  model: FunctionModel
  receiver: Receiver
  events: LoggedEvent[]
  ports: ReplayPorts
}

/** Executes a run that depends on the seed and on the time that things take, with a decision on each waiting call. */
export async function recordRun(seed: number): Promise<Recorded> {
  const random = randomOf(seed)
  const receiver = new Receiver()
  const tools = toolsOf(receiver, random)
  const model = randomModel(seed)
  const plan = seed % 4 === 0 ? 'plan_execute' : 'react'
  const hasSchema = seed % 5 === 0
  const config = { workflow_type: plan, sub_agents: { may_create: false, max_depth: 2, concurrency: 1 + (seed % 3) }, max_iterations: 8 }
  const agent = agentOf({ model, tools, config })
  const subAgents = [subAgentOf('a', tools, 'react'), subAgentOf('b', tools, seed % 3 === 0 ? 'plan_execute' : 'react')]
  const request: ChatRequest = { ...newRun('r').request, ...(hasSchema && { responseSchema: { type: 'object' } }) }
  return record({
    agent,
    model,
    receiver,
    subAgents,
    request,
    random,
    sends: () => seed % 7 === 0 && random() < 0.3,
    decide: (call) => decideBy(random, call),
  })
}

function decideBy(random: () => number, _call: PendingCall): Decision {
  const at = random()
  if (at < 0.3) return { decision: 'reject', reason: 'No.' }
  return { decision: 'approve', isStarted: false, ...(at < 0.6 ? { input: { n: 3, changed: true } } : {}) }
}

interface RecordOptions {
  agent: Agent
  model: FunctionModel
  receiver: Receiver
  subAgents?: readonly SubAgent[]
  request?: ChatRequest
  random?: () => number
  decide?(call: PendingCall): Decision
  /** How the turn differs from that of a new session. */
  turn?: Partial<Turn>
  memories?: RecalledMemories
  /** True where a person sends a message to the run during a call. */
  sends?(): boolean
}

/** A store whose writes take their time. */
class SlowStore extends MemoryRunStore {
  constructor(random: () => number) {
    super()
    const { checkpoint } = this
    this.checkpoint = async (...of) => {
      if (random() < 0.3) await delay(1)
      return checkpoint.apply(this, of)
    }
  }
}

/** Executes a run to its end. */
export async function record(options: RecordOptions): Promise<Recorded> {
  const {
    agent,
    model,
    receiver,
    subAgents = [],
    request = newRun('r').request,
    random = () => 1,
    decide = () => ({ decision: 'approve', isStarted: false }),
  } = options
  const store = new SlowStore(random)
  const content = request.messages.at(-1)?.content ?? ''
  const begun = await store.begin(newRun('r', { request, messages: [{ role: 'human', content, createdAt: 1 }] }))
  if (begun.kind !== 'running') throw new Error(`The run is ${begun.kind}.`)
  const ports = { ...toPorts(store, agent, subAgents), recall: () => options.memories && Promise.resolve(options.memories) }
  const decided: DecidedCall[] = []
  let sent = 0
  receiver.onCall = async () => {
    if (!options.sends?.() || sent >= 2) return
    await store.addMessage(keyOf('r'), { id: `m${++sent}`, mode: 'steer', text: `Also ${sent}.`, now: Date.now() })
    if (live) live.inbox.isWaiting = true
  }
  let live: LiveRun | undefined
  let turn = { ...begun.turn, ...options.turn }
  for (let fence = begun.fence; ;) {
    const { sessionId, operation, bodyHash, onDisconnect } = newRun('r')
    const earlier = { restoredAt: undefined, hasUnstored: false }
    const run = new LiveRun({
      key: keyOf('r'),
      sessionId,
      operation,
      bodyHash,
      request,
      onDisconnect,
      agent,
      fence,
      earlier,
      isResumed: fence > 1,
    })
    live = run
    await execute(run, turn, ports)
    const last = run.log.events.at(-1)
    if (last?.type !== 'interrupt') break
    const decisions = new Map(await store.decisions(keyOf('r')))
    for (const call of last.calls) {
      const decision = decide(call)
      decisions.set(call.callId, decision)
      decided.push(toDecided(call, decision))
    }
    store.decided.set(runKeyText(keyOf('r')), decisions)
    const taken = await store.takeOver(
      keyOf('r'),
      { fence, status: 'interrupted' },
      { holder: 'p1', queueOrder: 1, now: Date.now(), messages: [] },
    )
    if (taken?.kind !== 'running') throw new Error('The run was not taken over.')
    ;({ fence, turn } = taken)
  }
  const approvals = { ofRun: async () => decided }
  const recorded = (await readRecordedRun(keyOf('r'), { store, approvals }))!
  return { recorded, agent, model, receiver, events: fromCompact(recorded.run.log!.events), ports: toReplayPorts(ports) }
}

function toDecided(call: PendingCall, decision: Decision): DecidedCall {
  return {
    ...call,
    requestedAt: 1,
    expiresAt: 2,
    decision: decision.decision,
    ...(decision.decision === 'approve' && decision.input && { newInput: decision.input }),
    ...(decision.decision === 'reject' && decision.reason !== undefined && { reason: decision.reason }),
  }
}

function toPorts(store: MemoryRunStore, agent: Agent, subAgents: readonly SubAgent[]): ExecutionPorts {
  const ports = portsOf(store)
  const onFault = (error: unknown) => {
    throw error
  }
  let files = 0
  const keepArtifact = async ({ name, type, bytes, tool }: NewArtifact): Promise<Artifact> => {
    const id = `file ${String(++files).padStart(3, '0')}`
    return { id, name, type, size: bytes.byteLength, sha256: `hash ${bytes.join()}`, tool, createdAt: Date.now() }
  }
  return {
    ...ports,
    keeper: () => keepArtifact,
    schemas: {
      faultOf: async () => undefined,
      faultsOf: async (_use, _schema, value) => (typeof value === 'object' ? [] : ['it must be an object']),
    },
    subAgents: createReplayedSubAgents({ list: subAgents, agent, now: Date.now, newId: ports.newId, onFault }),
  }
}

function toReplayPorts({ schemas, clientTools, images, budgets, publicUrl }: ExecutionPorts): ReplayPorts {
  let ids = 0
  return {
    schemas,
    clientTools,
    images,
    budgets,
    publicUrl,
    observer: undefined,
    readMedia: async () => undefined,
    limits: () => undefined,
    now: Date.now,
    newId: () => `replayed ${++ids}`,
    onFault(error) {
      throw error
    },
  }
}

export { ann }
