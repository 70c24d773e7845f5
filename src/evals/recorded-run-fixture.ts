import { setTimeout as delay } from 'node:timers/promises'
import type { Decision, PendingCall } from '../agent/approval.ts'
import type { JsonObject, JsonValue, NewArtifact, Artifact } from '../agent/messages.ts'
import type { Model, ModelEvent, ModelReply, ModelRequest, ModelSink, RequestedCall } from '../agent/model.ts'
import { fakeTool } from '../agent/react-fixture.ts'
import type { Tool, ToolContext } from '../agent/tool.ts'
import type { Agent } from '../configuration/agent.ts'
import { execute } from '../runs/execution/execute.ts'
import type { ExecutionPorts } from '../runs/execution/ports.ts'
import { MemoryRunStore } from '../runs/memory-run-store-fixture.ts'
import { runKeyText } from '../runs/ownership/run-registry.ts'
import { LiveRun } from '../runs/ownership/live-run.ts'
import { agentOf, ann, keyOf, newRun, portsOf } from '../runs/process-fixture.ts'
import type { ChatRequest, LoggedEvent } from '../runs/run.ts'
import type { DecidedCall } from '../runs/trace/span.ts'
import type { SubAgent } from '../sub-agents/sub-agent-store.ts'
import { fromCompact } from '../runs/log/compact-log.ts'
import { readRecordedRun, type RecordedRun } from './from-run.ts'
import type { ReplayPorts } from './replay/replay.ts'
import { createReplayedSubAgents } from './replay/sub-agents.ts'

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Counts the calls of the tools: what would reach the systems behind them. */
export class Receiver {
  readonly calls: { tool: string; input: JsonObject }[] = []
  onCall: (() => Promise<void>) | undefined

  async took(tool: string, input: JsonObject): Promise<void> {
    this.calls.push({ tool, input })
    await this.onCall?.()
  }
}

/** Which agent asks, and how often the model has answered it. */
function askedOf({ system, messages }: ModelRequest): { who: string; turn: number } {
  const [, who = 'agent'] = /You are the sub-agent "([^"]+)"/.exec(system) ?? []
  return { who, turn: messages.filter(({ role }) => role === 'assistant').length }
}

/** A model that answers by a function of the request, in its time. */
export class FunctionModel implements Model {
  readonly name = 'function-1'
  readonly seesImages = false
  calls = 0
  private readonly answer: (request: ModelRequest) => { events: ModelEvent[]; calls?: RequestedCall[]; waitMs?: number }

  constructor(answer: FunctionModel['answer']) {
    this.answer = answer
  }

  async reply(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelReply> {
    this.calls++
    const { events, calls = [], waitMs } = this.answer(request)
    for (const event of events) {
      await sink(event)
      if (waitMs) await delay(waitMs, undefined, { signal })
    }
    const from = events.findLastIndex(({ type }) => type === 'retrying') + 1
    const textOf = (kind: string) =>
      events
        .slice(from)
        .map((event) => (event.type === kind && 'text' in event ? event.text : ''))
        .join('')
    const usage = { model: 'function-1', input: 10 + events.length, output: 5, cachedInput: 0, reasoning: 0 }
    const finish = calls.length > 0 ? ('tool_calls' as const) : ('stop' as const)
    return { text: textOf('text'), reasoning: textOf('reasoning'), toolCalls: calls, finish, usage }
  }
}

/** Tools with every kind of outcome. Each call reaches the receiver, and takes its time. */
export function toolsOf(receiver: Receiver, random: () => number): Tool[] {
  let calls = 0
  const tool = (
    name: string,
    output: (input: JsonObject, context: ToolContext) => JsonValue | Promise<JsonValue>,
    traits: Partial<Tool> = {},
  ) =>
    fakeTool(name, {
      ...traits,
      async execute(input, context) {
        await receiver.took(name, input)
        await delay(Math.floor(random() * 4))
        return output(input, context)
      },
    })
  return [
    tool('look', ({ n }) => ({ seen: n ?? null, at: ++calls })),
    tool('nothing', () => null),
    tool('broken', () => Promise.reject(new Error(`It failed\nfor the ${++calls}. time.`))),
    tool('draw', async (_input, { artifact, log }) => {
      log('Drawing.')
      await artifact(`picture-${++calls}.png`, 'image/png', new Uint8Array([calls]), { isReturned: true })
      return 'drawn'
    }),
    tool('peek', ({ n }) => `peeked at ${JSON.stringify(n)}`, { approval: { by: 'caller' } }),
    tool('refund', ({ n }) => ({ refunded: n ?? null, receipt: ++calls }), { effect: 'write' }),
    tool('send', () => `sent ${++calls}`, { effect: 'write', approval: { by: 'role' } }),
    tool('strict', () => 'fits', { check: ({ n }: any) => (typeof n === 'number' ? undefined : 'n must be a number') }),
  ]
}

const subAgent = (name: string, tools: readonly Tool[], workflowType: SubAgent['workflowType']): SubAgent => ({
  id: name,
  name,
  description: `Does ${name}.`,
  objective: '',
  tools: tools.map((tool) => tool.name),
  workflowType,
  madeBy: 'caller',
  hasFailed: false,
  isBusy: false,
  createdAt: 0,
  lastActive: 0,
})

/** A model whose replies depend on the seed, the agent and the turn alone. */
function randomModel(seed: number): FunctionModel {
  return new FunctionModel((request) => {
    const { who, turn } = askedOf(request)
    const last = request.messages.at(-1)!
    const random = randomOf(seed * 1000 + turn * 10 + who.charCodeAt(0))
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
    if (last.role === 'user' && (last.instruction === 'plan' || last.instruction === 'change'))
      return { events: [{ type: 'text', text: '["Look. ", "Say so."]' }] }
    const events: ModelEvent[] = []
    if (random() < 0.3) events.push({ type: 'reasoning', text: `Thought ${turn} of ${who}.` })
    if (random() < 0.15) events.push({ type: 'text', text: 'Broken' }, { type: 'retrying' })
    if (request.responseSchema)
      events.push({ type: 'text', text: random() < 0.5 ? '```json\n{"n": 1}\n```' : random() < 0.5 ? '{"n": 1}' : 'no' })
    else
      for (let pieces = Math.floor(random() * 3); pieces >= 0; pieces--) events.push({ type: 'text', text: `Piece ${pieces} of ${who}. ` })
    const names = ['look', 'look', 'nothing', 'broken', 'draw', 'peek', 'refund', 'refund', 'send', 'strict', 'unknown']
    if (who === 'agent') names.push('sub_agent_a', 'sub_agent_a', 'sub_agent_b')
    if (who === 'a') names.push('sub_agent_b')
    const isOver = turn > 2 || request.tools.length === 0
    const calls = Array.from({ length: isOver ? 0 : Math.floor(random() * 5) }, (): RequestedCall => {
      const name = pick(names)
      const input = name.startsWith('sub_agent')
        ? { task: pick(['x', 'y']) }
        : pick([{ n: 1 }, { n: 2, b: [1, { c: null }] }, { b: 1, n: 'a' }, {}])
      const text = random() < 0.05 ? '{"n": ' : JSON.stringify(input, undefined, random() < 0.3 ? 1 : 0)
      return { name, arguments: text }
    })
    return { events, calls, waitMs: random() < 0.4 ? 1 : 0 }
  })
}

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
  const subAgents = [subAgent('a', tools, 'react'), subAgent('b', tools, seed % 3 === 0 ? 'plan_execute' : 'react')]
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
  const begun = await store.begin(newRun('r', { request }))
  if (begun.kind !== 'running') throw new Error(`The run is ${begun.kind}.`)
  const ports = toPorts(store, agent, subAgents)
  const decided: DecidedCall[] = []
  let sent = 0
  receiver.onCall = async () => {
    if (!options.sends?.() || sent >= 2) return
    await store.addMessage(keyOf('r'), { id: `m${++sent}`, mode: 'steer', text: `Also ${sent}.`, now: Date.now() })
    if (live) live.inbox.isWaiting = true
  }
  let live: LiveRun | undefined
  let { turn } = begun
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
    now: Date.now,
    newId: () => `replayed ${++ids}`,
    onFault(error) {
      throw error
    },
  }
}

export { ann }
