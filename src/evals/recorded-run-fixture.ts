import { setTimeout as delay } from 'node:timers/promises'
import type { Decision, PendingCall } from '../agent/approval.ts'
import type { NewArtifact, Artifact, Image } from '../agent/messages.ts'
import type { RequestedCall } from '../agent/model.ts'
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
import { FunctionModel, randomModel, randomOf, Receiver, subAgentOf, toolsOf } from './recorded-parts-fixture.ts'
import { toNewMessages } from '../runs/window/window.ts'
import type { ImageReference } from '../sessions/message.ts'
import type { Example } from './example.ts'
import { exampleFromRun, readRecordedRun, type RecordedRun } from './from-run.ts'
import { createReadMedia, withMedia, type MediaPorts } from './media.ts'
import type { ReplayPorts } from './replay/options.ts'
import { createReplayedSubAgents } from './replay/sub-agents.ts'

export interface Recorded {
  recorded: RecordedRun
  agent: Agent
  model: FunctionModel
  receiver: Receiver
  events: LoggedEvent[]
  ports: ReplayPorts
  media: MediaPorts
}

/** Executes a run that depends on the seed and on the time that things take, with a decision on each waiting call. */
export async function recordRun(seed: number): Promise<Recorded> {
  const random = randomOf(seed)
  const receiver = new Receiver()
  const tools = toolsOf(receiver, random)
  const hasImages = seed % 3 === 1
  const model = randomModel(seed, hasImages ? { earlier: 2, seesImages: true } : {})
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
    request: hasImages ? { ...request, images: [picture] } : request,
    ...(hasImages && { images: [imageOf('question')], earlier: modelOfTurns([{ name: 'draw', arguments: '{}' }]) }),
    random,
    sends: () => seed % 7 === 0 && random() < 0.3,
    decide: (call) => decideBy(random, call),
  })
}

const picture: ImageReference = { name: 'a.png', mediaType: 'image/png' }

export const imageOf = (text: string): Image => ({ mediaType: 'image/png', data: Buffer.from(text).toString('base64') })

/** A model with eyes that makes these calls, one list for each turn, then answers. */
export function modelOfTurns(...turns: RequestedCall[][]): FunctionModel {
  const answer: FunctionModel['answer'] = ({ messages }) => {
    const replies = messages.filter(({ role }) => role === 'assistant').length
    return { events: [{ type: 'text', text: 'Done.' }], calls: turns[replies] ?? [] }
  }
  return new FunctionModel(answer, { seesImages: true })
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
  /** Bytes of the pictures of the request. */
  images?: Image[]
  /** Answers a question with a picture before, in the same session. */
  earlier?: FunctionModel
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
  const { ports: made, media } = toPorts(store, agent, subAgents)
  const ports = { ...made, recall: () => options.memories && Promise.resolve(options.memories) }
  if (options.earlier) {
    const earlier = { ...newRun('r').request, images: [picture] }
    const begun = await begin(store, 'earlier', earlier, [imageOf('earlier')])
    await execute(liveRun('earlier', earlier, { ...agent, model: options.earlier }, begun.fence), begun.turn, ports)
  }
  const begun = await begin(store, 'r', request, options.images)
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
    const run = (live = liveRun('r', request, agent, fence))
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
  return { recorded, agent, model, receiver, events: fromCompact(recorded.run.log!.events), ports: toReplayPorts(ports), media }
}

async function begin(store: MemoryRunStore, id: string, request: ChatRequest, images: Image[] | undefined) {
  const messages = toNewMessages(request, id, 1).slice(-1)
  const begun = await store.begin(newRun(id, { request, messages, ...(images && { images }) }))
  if (begun.kind !== 'running') throw new Error(`The run is ${begun.kind}.`)
  return begun
}

function liveRun(id: string, request: ChatRequest, agent: Agent, fence: number): LiveRun {
  const { sessionId, operation, bodyHash, onDisconnect } = newRun(id)
  const earlier = { restoredAt: undefined, hasUnstored: false }
  return new LiveRun({ key: keyOf(id), sessionId, operation, bodyHash, request, onDisconnect, agent, fence, earlier, isResumed: fence > 1 })
}

/** The example as a store returns it, with the reader of its media. */
export async function toStored(
  { recorded, media: ports }: Recorded,
  options: Parameters<typeof exampleFromRun>[1] = { id: 'e1', name: 'run', configVersion: '1' },
) {
  const { example, media } = await withMedia(exampleFromRun(recorded, options), recorded, ports)
  const key = { tenant: 't', dataset: 'd', example: example.id }
  const readMedia = createReadMedia({ media: async () => structuredClone(media) }, key)
  return { example: JSON.parse(JSON.stringify(example)) as Example, readMedia, media }
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

function toPorts(store: MemoryRunStore, agent: Agent, subAgents: readonly SubAgent[]): { ports: ExecutionPorts; media: MediaPorts } {
  const ports = portsOf(store)
  const onFault = (error: unknown) => {
    throw error
  }
  const kept = new Map<string, Uint8Array>()
  const keepArtifact = async ({ name, type, bytes, tool }: NewArtifact): Promise<Artifact> => {
    const id = `file ${String(kept.size + 1).padStart(3, '0')}`
    kept.set(id, bytes)
    return { id, name, type, size: bytes.byteLength, sha256: `hash ${bytes.join()}`, tool, createdAt: Date.now() }
  }
  const all: ExecutionPorts = {
    ...ports,
    keeper: () => keepArtifact,
    images: { fromBytes: async (bytes) => ({ ...imageOf(Buffer.from(bytes).toString()), originalType: 'image/png' }) },
    schemas: {
      faultOf: async () => undefined,
      faultsOf: async (_use, _schema, value) => (typeof value === 'object' ? [] : ['it must be an object']),
    },
    subAgents: createReplayedSubAgents({ list: subAgents, agent, now: Date.now, newId: ports.newId, onFault }),
  }
  const { images, mediaBytes } = store
  return { ports: all, media: { images, mediaBytes, readArtifact: async (_folder, { id }) => kept.get(id) } }
}

function toReplayPorts({ schemas, clientTools, images, readTool, budgets, publicUrl }: ExecutionPorts): ReplayPorts {
  let ids = 0
  return {
    schemas,
    clientTools,
    images,
    readTool,
    budgets,
    publicUrl,
    observer: undefined,
    readMedia: async () => undefined,
    limits: () => undefined,
    writesInUse: () => false,
    now: Date.now,
    newId: () => `replayed ${++ids}`,
    onFault(error) {
      throw error
    },
  }
}

export { ann }
