import type { ToolSet } from '../../agent/tool.ts'
import type { Budgets } from '../../budgets/budgets.ts'
import type { Agent } from '../../configuration/agent.ts'
import { execute } from '../../runs/execution/execute.ts'
import type { ExecutionPorts } from '../../runs/execution/ports.ts'
import { LiveRun } from '../../runs/ownership/live-run.ts'
import type { LoggedEvent } from '../../runs/run.ts'
import { originalEvents } from '../original.ts'
import { createAnswers, type Answers, type NotedWrite } from './answers.ts'
import { createReplayCatalog, isOfProvider, type ReplayCatalog } from './catalog.ts'
import { decide } from './decisions.ts'
import { RecordedMessages } from './messages.ts'
import type { Replayed, ReplayOptions, ReplayPorts } from './options.ts'
import { Order } from './order.ts'
import { RecordedModel } from './recorded-model.ts'
import { RecordedWatch } from './recorded-watch.ts'
import { Recording } from './recording.ts'
import { ReplayStore } from './store.ts'
import { historyOf, toRequest, toTurn, withReader } from './question.ts'
import { createReplayedSubAgents } from './sub-agents.ts'
import { Watch, type Divergence } from './watch.ts'

/** Most waits of a run. A replay decides at once, so that a run could wait without end. */
const maxWaits = 200

/**
 * Answers the question of an example again. It is the execution of a run as usual, with other ports: the store is in memory, and the tools
 * answer from the recording.
 */
export async function replay(options: ReplayOptions, ports: ReplayPorts): Promise<Replayed> {
  return new Replay(options, ports).run()
}

class Replay {
  private readonly options: ReplayOptions
  private readonly ports: ReplayPorts
  private readonly recording: Recording
  private readonly store: ReplayStore
  private readonly messages: RecordedMessages
  private readonly order: Order
  private readonly events: readonly LoggedEvent[]
  private readonly writes: NotedWrite[] = []
  private divergence: Divergence | undefined
  private live: LiveRun | undefined
  private isStopped = false
  private hasMissed = false

  constructor(options: ReplayOptions, ports: ReplayPorts) {
    const { example } = options
    this.options = options
    this.ports = ports
    this.recording = new Recording(example.recording)
    this.events = example.original ? originalEvents(example.original, example.recording) : []
    this.messages = new RecordedMessages(this.events, example.model_replies, options.isRecorded === true)
    this.order = new Order(this.events)
    const { readMedia } = ports
    const { requestId } = options
    this.store = new ReplayStore({ example, requestId, history: historyOf(example), readMedia, takeMessages: () => this.messages.take() })
  }

  async run(): Promise<Replayed> {
    const { agent, watch, deps } = this.prepare()
    this.missProvider(agent.tools)
    try {
      return await this.execute(agent, watch, deps)
    } finally {
      const { owner, requestId } = this.options
      if (agent.config.budgets?.some(({ scope }) => scope === 'run')) await deps.budgets.forget({ ...owner, requestId })
    }
  }

  private async execute(agent: Agent, watch: Watch, deps: ExecutionPorts): Promise<Replayed> {
    let ranMs = 0
    for (let fence = 1; ; fence++) {
      const run = this.toRun(agent, fence, ranMs)
      try {
        await execute(run, toTurn(this.options.example, this.options.requestId), deps, watch.loop)
      } finally {
        deps.observer?.ended(run)
      }
      if (watch instanceof RecordedWatch) watch.waited()
      const last = run.log.events.at(-1)
      if (last?.type !== 'interrupt') return this.toResult(run.log.events.slice())
      ranMs = run.elapsedMs(this.ports.now())
      const isDecided = last.calls.map((call) => {
        const decision = decide(call, { recording: this.recording, now: this.ports.now, onWrite: this.note })
        if (decision) this.store.decide(call.callId, decision)
        return decision !== undefined
      })
      if (fence > maxWaits || isDecided.includes(false)) this.isStopped = true
    }
  }

  private prepare() {
    const { example, agent: configured, isRecorded = false } = this.options
    const { ports, recording, order } = this
    const { answer, keepArtifact, expectFiles } = this.createAnswers()
    const { live, onMiss } = this.options
    const described = withReader(configured.tools, example, ports.readTool)
    const tools = createReplayCatalog(described, {
      answer,
      mayReach: ({ name }) => isRecorded || (onMiss === 'live' && live?.has(name) === true),
      isWrite: (name) => ports.writesInUse(name) || example.recording.some(({ tool, effect }) => tool === name && effect === 'write'),
    })
    const model = new RecordedModel({
      example,
      recording,
      events: this.events,
      order,
      model: configured.model,
      onFiles: expectFiles,
      onMissing: () => this.diverge({ reason: 'reply_missing' }),
    })
    const { budgets: _budgets, ...rest } = configured.config
    const budgets = isRecorded ? undefined : ports.limits()
    // The ledger holds what happened: a replay does nothing.
    const config = { ...rest, audit: { ...rest.audit, enabled: false }, ...(budgets && { budgets }) }
    const agent: Agent = { ...configured, config, tools, ...(isRecorded && { model }), hold: () => () => undefined }
    const watch = this.createWatch(tools)
    const observer = isRecorded ? { ...silent, traceOf: () => model.trace } : ports.observer
    return { agent, watch, deps: this.toPorts(agent, watch, { keepArtifact, observer }) }
  }

  private createAnswers(): Answers {
    const { example, agent, isRecorded = false, onMiss = 'fail', live = new Map(), requestId } = this.options
    const { recording, ports } = this
    const isClock = ({ name, type = name }: { name: string; type?: string }) => type === 'current_time'
    return createAnswers({
      recording,
      onMiss: isRecorded ? 'fail' : onMiss,
      live,
      requestId,
      hasWaited: (callId) => this.store.isDecided(callId),
      clocks: new Set(agent.config.tools.filter(isClock).map(({ name }) => name)),
      time: example.time,
      readMedia: ports.readMedia,
      onWrite: this.note,
      onMissed: ({ callId, tool, input, isLive }, reason) => {
        if (!isLive) this.hasMissed = true
        this.diverge({ reason, call: { tool, tool_input: input, parent: recording.parentOf(callId) ?? null } })
      },
    })
  }

  private createWatch(tools: ReplayCatalog): Watch {
    const { example, isRecorded } = this.options
    const options = {
      recording: this.recording,
      messages: this.messages,
      isReplayed: (name: string) => tools.list().some((listing) => listing.name === name && listing.tool),
      onDivergence: (divergence: Divergence) => this.diverge(divergence),
      onWrite: this.note,
    }
    if (!isRecorded || !example.original) return new Watch(options)
    const { order, events } = this
    return new RecordedWatch({
      ...options,
      order,
      events,
      replies: example.model_replies,
      log: () => this.live!.log,
      newId: this.ports.newId,
    })
  }

  private toPorts(agent: Agent, watch: Watch, parts: Pick<ExecutionPorts, 'observer'> & Pick<Answers, 'keepArtifact'>): ExecutionPorts {
    const { example } = this.options
    const { ports, order } = this
    const memories = example.before.find((entry) => entry.kind === 'memories')
    return {
      ...ports,
      ...(watch instanceof RecordedWatch && { now: watch.now, newId: watch.newId, pace: order }),
      store: this.store,
      holder: 'replay',
      jobs: { wake: () => undefined },
      attachments: { check: refuse, read: refuse },
      readTool: refuse,
      clientWaits: { refuse: async () => undefined, add: (_caller, _agent, store) => store() },
      keeper: () => parts.keepArtifact,
      recall: () => memories && Promise.resolve(memories),
      subAgents: createReplayedSubAgents({ list: example.sub_agents ?? [], agent, ...ports }),
      observer: parts.observer,
      budgets: ofReplays(ports.budgets),
      onFault: (_run, error) => ports.onFault(error),
    }
  }

  private toRun(agent: Agent, fence: number, ranMs: number): LiveRun {
    const { owner, requestId, signal } = this.options
    const request = toRequest(this.options.example)
    const run = new LiveRun({
      key: { ...owner, requestId },
      sessionId: requestId,
      operation: 'experiment',
      bodyHash: '',
      request,
      agent,
      onDisconnect: 'continue',
      fence,
      ranMs,
      isResumed: fence > 1,
      earlier: { restoredAt: undefined, hasUnstored: false },
    })
    this.live = run
    run.signal.addEventListener('abort', () => this.order.abandon())
    if (this.isStopped || signal.aborted) run.stop('cancelled')
    else signal.addEventListener('abort', () => run.stop('cancelled'), { signal: run.signal })
    return run
  }

  private toResult(events: readonly LoggedEvent[]): Replayed {
    const { ended } = this.store
    if (!ended) throw new Error('A replay has ended without an end.')
    const { divergence, writes, options } = this
    const isDiverged = divergence !== undefined && this.isStopped
    const isEqual = divergence === undefined && events.length === this.events.length
    return {
      status: isDiverged ? 'diverged' : ended.status === 'success' ? 'completed' : 'failed',
      events,
      ended,
      ...(divergence && { divergence }),
      hasMissed: this.hasMissed,
      writes,
      isAnswered: (callId) => this.recording.claimOf(callId) !== undefined,
      ...(options.isRecorded && options.example.original && { isEqual }),
    }
  }

  /** A provider answers from no recording: a run whose provider has called a tool differs from the start where the tool is not offered. */
  private missProvider(tools: ToolSet): void {
    const withheld = new Set(this.options.agent.tools.list().flatMap(({ name, tool }) => (tool && isOfProvider(tool) ? [name] : [])))
    for (const { name, tool } of tools.list()) if (tool) withheld.delete(name)
    const calls = this.events.flatMap((event) => (event.type === 'step_start' && event.step.isOfProvider ? [event.step] : []))
    const call = calls.find(({ tool }) => withheld.has(tool))
    if (call) this.diverge({ reason: 'tool_missing', call: { tool: call.tool, tool_input: call.input, parent: null } })
  }

  private readonly note = (write: NotedWrite): void => void this.writes.push(write)

  private diverge(divergence: Divergence): void {
    this.divergence ??= divergence
    const { isRecorded, onMiss = 'fail' } = this.options
    if (!isRecorded && onMiss !== 'fail') return
    this.isStopped = true
    this.live?.stop('cancelled')
  }
}

/** The budgets of replays. No commit of a run settles, and no session pays: that of the example belongs to its caller. */
function ofReplays(budgets: Budgets): Budgets {
  return { ...budgets, open: ({ session: _session, ...payer }, agent) => budgets.open({ ...payer, fence: 0 }, agent) }
}

const silent = { started: () => undefined, saw: () => undefined, ended: () => undefined }

function refuse(): never {
  throw new Error('A replay reads no files.')
}
