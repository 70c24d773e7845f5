import type { Owner } from '../../access/owner.ts'
import type { Agent } from '../../configuration/agent.ts'
import { execute } from '../../runs/execution/execute.ts'
import type { ExecutionPorts } from '../../runs/execution/ports.ts'
import { LiveRun } from '../../runs/ownership/live-run.ts'
import type { ChatRequest, LoggedEvent } from '../../runs/run.ts'
import type { EndedRun, HistoryMessage, Turn } from '../../runs/run-store.ts'
import type { Example } from '../example.ts'
import { originalEvents } from '../original.ts'
import { createAnswers, type NotedWrite, type OnMiss } from './answers.ts'
import { createReplayCatalog, type LiveRead } from './catalog.ts'
import { decide } from './decisions.ts'
import { RecordedMessages } from './messages.ts'
import { Order } from './order.ts'
import { RecordedModel } from './recorded-model.ts'
import { RecordedWatch } from './recorded-watch.ts'
import { Recording } from './recording.ts'
import { ReplayStore, type ReadMedia } from './store.ts'
import { createReplayedSubAgents } from './sub-agents.ts'
import { Watch, type Divergence } from './watch.ts'

export interface ReplayOptions {
  example: Example
  /** The configuration that answers. Its tools are described, never run; the owner closes the agent. */
  agent: Agent
  /** True: the replies of the models come from the recording too. */
  isRecorded?: boolean
  onMiss?: OnMiss
  /** The tools that may read for `onMiss: live`. */
  live?: ReadonlyMap<string, LiveRead>
  /** Who pays for the model calls, and whom tools are told as the caller. */
  owner: Owner
  /** The request id of the replay, for spans and budgets. */
  requestId: string
  signal: AbortSignal
}

/** Ports for replays that are adapters: everything else of a replay is in memory. */
export interface ReplayPorts extends Pick<ExecutionPorts, 'schemas' | 'clientTools' | 'images' | 'budgets' | 'observer' | 'publicUrl'> {
  readMedia: ReadMedia
  now(): number
  newId(): string
  onFault(error: unknown): void
}

export interface Replayed {
  /** `diverged`: the replay has stopped at the divergence. `failed`: the run ended with an error. */
  status: 'completed' | 'diverged' | 'failed'
  events: readonly LoggedEvent[]
  /** The end as the store of a run would have it. */
  ended: EndedRun
  /** The first call that the recording cannot answer; absent for none. */
  divergence?: Divergence
  /** The calls that change something, in the order in which they would have been made. */
  writes: readonly NotedWrite[]
  /** True for a replay with recorded replies whose events are those of the recorded run. */
  isEqual?: boolean
}

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

  constructor(options: ReplayOptions, ports: ReplayPorts) {
    const { example } = options
    this.options = options
    this.ports = ports
    this.recording = new Recording(example.recording)
    this.events = example.original ? originalEvents(example.original, example.recording) : []
    this.messages = new RecordedMessages(this.events, example.model_replies, options.isRecorded === true)
    this.order = new Order(this.events)
    const { readMedia } = ports
    this.store = new ReplayStore({ example, history: historyOf(example), readMedia, takeMessages: () => this.messages.take() })
  }

  async run(): Promise<Replayed> {
    const { agent, watch, deps } = this.prepare()
    let ranMs = 0
    for (let fence = 1; ; fence++) {
      const run = this.toRun(agent, fence, ranMs)
      await execute(run, this.toTurn(), deps, watch.loop)
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
    const { example, agent: configured, isRecorded = false, onMiss = 'fail', live = new Map() } = this.options
    const { ports, recording, order } = this
    const isClock = ({ name, type = name }: { name: string; type?: string }) => type === 'current_time'
    const { answer, keepArtifact, expectFiles } = createAnswers({
      recording,
      onMiss: isRecorded ? 'fail' : onMiss,
      live,
      clocks: new Set(configured.config.tools.filter(isClock).map(({ name }) => name)),
      time: example.time,
      readMedia: ports.readMedia,
      onWrite: this.note,
      onMissed: ({ callId, tool, input }, reason) =>
        this.diverge({ reason, call: { tool, tool_input: input, parent: recording.parentOf(callId) ?? null } }),
    })
    const tools = createReplayCatalog(configured.tools, answer)
    const model = new RecordedModel({
      example,
      recording,
      events: this.events,
      order,
      model: configured.model,
      onFiles: expectFiles,
      onMissing: () => this.diverge({ reason: 'reply_missing' }),
    })
    const { budgets, ...rest } = configured.config
    // The ledger holds what happened: a replay does nothing.
    const config = { ...rest, audit: { ...rest.audit, enabled: false }, ...(budgets && !isRecorded && { budgets }) }
    const agent: Agent = { ...configured, config, tools, ...(isRecorded && { model }), hold: () => () => undefined }
    const watchOptions = {
      recording,
      messages: this.messages,
      isReplayed: (name: string) => tools.list().some((listing) => listing.name === name && listing.tool),
      onDivergence: (divergence: Divergence) => this.diverge(divergence),
      onWrite: this.note,
    }
    const recorded = {
      order,
      events: this.events,
      replies: example.model_replies,
      log: () => this.live!.log,
      newId: ports.newId,
    }
    const watch = isRecorded && example.original ? new RecordedWatch({ ...watchOptions, ...recorded }) : new Watch(watchOptions)
    const observer = isRecorded
      ? { ...silent, traceOf: () => ({ modelCall: (callId: string | undefined) => model.traceOf(callId), traceparentOf: () => undefined }) }
      : ports.observer
    const clock = watch instanceof RecordedWatch ? { now: watch.now, newId: watch.newId } : { now: ports.now, newId: ports.newId }
    const memories = example.before.find((entry) => entry.kind === 'memories')
    const deps: ExecutionPorts = {
      ...ports,
      ...clock,
      store: this.store,
      holder: 'replay',
      jobs: { wake: () => undefined },
      attachments: { check: refuse, read: refuse },
      readTool: refuse,
      clientWaits: { refuse: async () => undefined, add: (_caller, _agent, store) => store() },
      keeper: () => keepArtifact,
      recall: () => memories && Promise.resolve(memories),
      subAgents: createReplayedSubAgents({ list: example.sub_agents ?? [], agent, ...ports }),
      observer,
      ...(watch instanceof RecordedWatch && { pace: order }),
      onFault: (_run, error) => ports.onFault(error),
    }
    return { agent, watch, deps }
  }

  private toRun(agent: Agent, fence: number, ranMs: number): LiveRun {
    const { owner, requestId, signal } = this.options
    const request = toRequest(this.options.example)
    const run = new LiveRun({
      key: { ...owner, requestId },
      sessionId: requestId,
      operation: 'chain',
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

  private toTurn(): Turn {
    const { example, requestId } = this.options
    const history = historyOf(example)
    const entry = example.before.find(({ kind }) => kind === 'summary')
    const { kind: _kind, ...summary } = entry?.kind === 'summary' ? entry : { kind: '', text: '' }
    const session = example.original?.session ?? requestId
    return {
      session,
      messageIndex: history.length - 1,
      messageCount: history.length,
      windowStart: 0,
      ...(entry && { summary }),
    }
  }

  private toResult(events: readonly LoggedEvent[]): Replayed {
    const { ended } = this.store
    if (!ended) throw new Error('A replay has ended without an end.')
    const { divergence, writes, options } = this
    const isDiverged = divergence !== undefined && this.isStopped
    const isEqual = divergence === undefined && events.length === this.events.length
    return {
      status: isDiverged ? 'diverged' : ended.error ? 'failed' : 'completed',
      events,
      ended,
      ...(divergence && { divergence }),
      writes,
      ...(options.isRecorded && options.example.original && { isEqual }),
    }
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

const silent = { started: () => undefined, saw: () => undefined, ended: () => undefined }

function refuse(): never {
  throw new Error('A replay reads no files.')
}

function historyOf({ before, input }: Example): HistoryMessage[] {
  const messages = before.filter((entry) => entry.kind === 'message')
  const question = input.messages.at(-1)?.content ?? ''
  return [
    ...messages.map(({ role, content, data }, idx) => ({ idx, role, content, data })),
    { idx: messages.length, role: 'human' as const, content: question, data: undefined },
  ]
}

function toRequest({ input }: Example): ChatRequest {
  const {
    messages,
    data_filter_hints: filters,
    continuation,
    instructions,
    response_schema: responseSchema,
    client_tools: clientTools,
    model_options: modelOptions,
  } = input
  return {
    messages,
    filters,
    headers: {},
    ...(continuation && { continuation }),
    ...(instructions !== undefined && { instructions }),
    ...(responseSchema && { responseSchema }),
    ...(clientTools && { clientTools }),
    ...(modelOptions && { modelOptions }),
  }
}
