import assert from 'node:assert/strict'
import type { Decision, PendingCall } from '../agent/approval.ts'
import type { Message, ToolMessage } from '../agent/messages.ts'
import type { Model, ModelReply, ModelRequest, ModelSink } from '../agent/model.ts'
import { planExecute } from '../agent/plan.ts'
import { optionsOf, type StoryEvent } from '../agent/react-fixture.ts'
import { react, runAgent } from '../agent/loop.ts'
import { ScriptedModel, type ScriptedReply } from '../agent/scripted-model.ts'
import type { Tool } from '../agent/tool.ts'
import type { Agent } from '../configuration/agent.ts'
import { toAgentConfig } from '../configuration/parse.ts'
import type { WorkflowType } from '../configuration/schema.ts'
import { localBus } from '../replicas/bus.ts'
import { createSubAgentTools } from './own-tools.ts'
import type { SubAgent, SubAgentStore } from './sub-agent-store.ts'
import { createSubAgents, type SubAgents } from './sub-agents.ts'

const noTools = { list: () => [], search: () => [], settling: () => undefined, close: async () => {} }

/** A model that says what a function makes of the request. */
export class AnsweringModel implements Model {
  readonly name = 'answering-1'
  readonly seesImages = false
  private readonly answer: (request: ModelRequest) => ScriptedReply

  constructor(answer: (request: ModelRequest) => ScriptedReply) {
    this.answer = answer
  }

  reply(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelReply> {
    return new ScriptedModel(this.answer(request)).reply(request, sink, signal)
  }
}

/** Who is asked, and how often it has answered in its task. */
export function askedOf({ system, messages }: ModelRequest): { who: string; turn: number } {
  const [, who = 'agent'] = /You are the sub-agent "([^"]+)"/.exec(system) ?? []
  return { who, turn: messages.filter((message) => message.role === 'assistant').length }
}

const ann = { tenant: 't', owner: 'ann' }

export interface KeptRunOptions {
  model: Model
  tools: Tool[]
  /** Names of the caller's sub-agents; each has all tools. */
  subAgents?: readonly string[]
  workflow?: WorkflowType
  /** The sub-agents'. */
  innerWorkflow?: WorkflowType
  depth?: number
  concurrency?: number
}

class Crash extends Error {}

/** How far an attempt came: to its end, to calls that wait, or to the place where its process died. */
export type Came = { to: 'end' } | { to: 'crash' } | { to: 'interrupt'; calls: readonly PendingCall[] }

/**
 * A run with what is kept of it by the rules of a run's checkpoints, in memory: it goes on after an interruption, and after a process
 * that died behind any of its events.
 */
export class KeptRun {
  readonly decisions = new Map<string, Decision>()
  /** Of the run itself, its request left out. */
  messages: Message[] = []
  nested: { callId: string; message: Message }[] = []
  readonly events: StoryEvent[] = []
  readonly subAgents: SubAgents
  readonly list: SubAgent[] = []
  private readonly options: KeptRunOptions
  private ids = 0
  private time = 0

  constructor(options: KeptRunOptions) {
    this.options = options
    for (const name of options.subAgents ?? []) this.list.push(toSubAgent(name, options))
    this.subAgents = createSubAgents({
      store: storeOf(this.list),
      agent: () => ({ tools: { list: () => [] } }) as unknown as Agent,
      isShared: false,
      bus: localBus,
      holder: 'p',
      now: () => ++this.time,
      newId: () => `i${++this.ids}`,
      onFault: (error) => {
        throw error
      },
    })
  }

  /** One attempt. The process dies behind as many events as it is told, before (`isKept` false) or after the last of them is kept. */
  async resume({ dieAfter = Infinity, isKept = true } = {}): Promise<Came> {
    const options = this.loopOptions()
    const attempt = { results: [] as ToolMessage[], nested: [...this.nested] }
    const workflow = this.options.workflow === 'plan_execute' ? planExecute : react
    let count = 0
    const take = (event: StoryEvent): undefined => {
      assert.ok(count <= dieAfter, 'a process that died emits nothing')
      const isLast = ++count > dieAfter
      if (isLast && !isKept) throw new Crash()
      this.events.push(event)
      if (event.type === 'result') this.events.push({ type: 'step_end', step: event.step })
      this.keep(event, options.messages.slice(1), attempt)
      if (isLast && event.type !== 'end' && event.type !== 'interrupt') throw new Crash()
    }
    try {
      const outcome = await runAgent({ ...options, workflow }, take)
      take(outcome)
      if (outcome.type === 'interrupt') return { to: 'interrupt', calls: outcome.calls }
      this.messages = structuredClone(options.messages.slice(1))
      this.nested = attempt.nested
      return { to: 'end' }
    } catch (error) {
      if (error instanceof Crash) return { to: 'crash' }
      throw error
    }
  }

  /** What was said in the calls of one agent: of the run's own, or of the one inside of a call. */
  transcripts(): Message[][] {
    const inner = new Set(this.nested.map(({ callId }) => callId))
    return [this.messages, ...[...inner].map((id) => this.nested.flatMap((one) => (one.callId === id ? [one.message] : [])))]
  }

  private loopOptions() {
    const { model, tools, depth = 1, concurrency = 4 } = this.options
    const decisionFor = (callId: string) => this.decisions.get(callId)
    const messages: Message[] = [{ role: 'user', text: 'Go.' }, ...structuredClone(this.messages)]
    const iterations = this.messages.filter((message) => message.role === 'assistant').length
    const newId = () => `c${++this.ids}`
    const options = optionsOf(model, { messages, iterations, decisionFor, newId, now: () => ++this.time })
    const config = toAgentConfig({ sub_agents: { may_create: false, max_depth: depth, concurrency } })
    const onFault = (error: unknown) => {
      throw error
    }
    const parent = {
      caller: ann,
      options,
      agent: { config, model, tools: noTools },
      tools,
      subAgents: this.subAgents,
      onFault,
    }
    const subAgentTools = createSubAgentTools(parent, this.list)
    const nested = [...this.nested]
    const earlierMessages = (callId: string) => structuredClone(nested.flatMap((one) => (one.callId === callId ? [one.message] : [])))
    return { ...options, tools: () => [...tools, ...subAgentTools()], earlierMessages }
  }

  /** As `runs/execution/execute.ts` and `runs/execution/progress.ts` do. */
  private keep(event: StoryEvent, messages: Message[], attempt: { results: ToolMessage[]; nested: KeptRun['nested'] }): void {
    const checkpoint = () => {
      const known = new Set(messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : [])))
      this.messages = structuredClone([...messages, ...attempt.results.filter(({ callId }) => !known.has(callId))])
      this.nested = structuredClone(attempt.nested)
    }
    if (event.type === 'turn') {
      attempt.results = []
      if (event.message.toolCalls.length > 0) checkpoint()
    } else if (event.type === 'result') {
      attempt.results.push(event.message)
      if (event.effect === 'write') checkpoint()
    } else if (event.type === 'nested') {
      const inner = event.event
      attempt.nested.push({ callId: event.callId, message: inner.message })
      if (inner.type === 'turn' ? inner.message.toolCalls.length > 0 : inner.type === 'instruction' || inner.effect === 'write')
        checkpoint()
    } else if (event.type === 'approved_start') {
      const decision = this.decisions.get(event.callId)
      if (decision?.decision === 'approve') decision.isStarted = true
    } else if (event.type === 'interrupt' || event.type === 'instruction') checkpoint()
  }
}

function toSubAgent(name: string, { tools, innerWorkflow = 'react' }: KeptRunOptions): SubAgent {
  const texts = { name, description: `Does ${name}.`, objective: '', tools: tools.map((tool) => tool.name) }
  return { ...texts, id: name, workflowType: innerWorkflow, madeBy: 'caller', hasFailed: false, isBusy: false, createdAt: 0, lastActive: 0 }
}

function storeOf(list: SubAgent[]): SubAgentStore {
  return {
    list: async () => list,
    insert: async () => 'full',
    remove: async () => false,
    atWork: async (_who, id) => list.some((one) => one.id === id),
    async ended(_who, id, { hasFailed }) {
      const one = list.find((other) => other.id === id)
      if (one && hasFailed !== undefined) one.hasFailed = hasFailed
    },
  }
}
