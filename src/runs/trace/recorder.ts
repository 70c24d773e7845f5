import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { TurnEvent } from '../../agent/events.ts'
import type { AssistantMessage, Instruction } from '../../agent/messages.ts'
import { BudgetSpent } from '../../agent/meter.ts'
import type { Model, ModelAttempt, ModelCallTrace, ModelRequest, PaidAmount, RunTrace } from '../../agent/model.ts'
import { roundSums, type PhaseSums, type PhaseTimes } from '../../concurrency/phase-times.ts'
import type { Agent } from '../../configuration/agent.ts'
import { costOf } from '../../configuration/model-schema.ts'
import type { AgentConfig } from '../../configuration/schema.ts'
import { charactersIn } from '../../json/shape.ts'
import type { AttemptRecord, HeldRecord, ModelRecord, ReplyRecord, ShownParts, ShownRecord, TraceRecord, WaitRecord } from './records.ts'

interface RecorderOptions {
  /** The log of the run. */
  log: { readonly events: { readonly length: number } }
  agent: Pick<Agent, 'config' | 'findPrices'>
  /** Measures the model calls of the run's own agent. Those of other agents are a part of their tool call. */
  times?: PhaseTimes
}

/** Records what the trace of a live run needs beside the numbered events. Called a few times per model call, never per token. */
export class TraceRecorder implements RunTrace {
  private readonly options: RecorderOptions
  private readonly complete: TraceRecord[] = []
  /** Model calls without an end: at most one of the run's own agent, and one in each tool call in which an agent runs. */
  private open: readonly ModelRecord[] = noCalls
  private wait: WaitRecord | undefined
  private calls = 0
  /** True while the own agent makes a plan, whose text no reader gets. */
  private isPlanning = false
  private replyCharacters = 0
  private tracer: RunTrace | undefined
  private now: () => number = Date.now

  constructor(options: RecorderOptions) {
    this.options = options
  }

  /** Number of complete records. */
  get count(): number {
    return this.complete.length
  }

  /** Complete records after the first `count`. */
  after(count: number): TraceRecord[] {
    return this.complete.slice(count)
  }

  /** All records, with those of open calls and waits last. */
  all(): TraceRecord[] {
    return [...this.complete, ...this.open, ...(this.wait ? [this.wait] : [])]
  }

  /** Adds the records of earlier processes. */
  restore(records: readonly TraceRecord[]): void {
    for (const record of records) {
      this.complete.push(record)
      if (record.type === 'model') this.calls = Math.max(this.calls, record.n)
    }
  }

  hold(record: Omit<HeldRecord, 'type'>): void {
    this.complete.push({ type: 'held', ...record })
  }

  /** Records what the model is shown. Most runs show the agent's instructions and the session alone, and share a record. */
  show(parts: ShownParts | undefined): void {
    const { config } = this.options.agent
    const plain = plainRecords.get(config) ?? toPlainRecord(config)
    const record = parts ? { ...plain, ...parts } : plain
    if (this.complete.length <= 1 || !isDeepStrictEqual(this.complete.findLast(isShown), record)) this.complete.push(record)
  }

  instruct(instruction: Instruction, at: number, callId?: string): void {
    if (callId === undefined) this.isPlanning = instruction === 'plan' || instruction === 'change' || instruction === 'adapt'
    this.complete.push({ type: 'instruction', n: this.calls + 1, at, ...(callId !== undefined && { callId }), instruction })
  }

  /** Records the time until `waiting` resolves. */
  async waitFor(waiting: Promise<void>, now: () => number): Promise<void> {
    const wait: WaitRecord = (this.wait = { type: 'wait', startedAt: now() })
    await waiting
    this.wait = undefined
    this.waited(wait.startedAt, now())
  }

  waited(startedAt: number, endedAt: number): void {
    this.complete.push({ type: 'wait', startedAt, endedAt })
  }

  /** Passes each model call on to `tracer` too. */
  follow(tracer: RunTrace | undefined, now: () => number): this {
    this.tracer = tracer
    this.now = now
    return this
  }

  modelCall(callId: string | undefined): ModelCallTrace {
    const { tracer, now } = this
    const { times } = this.options
    const traced = tracer?.modelCall(callId)
    if (times && callId === undefined) {
      times.endAll('model')
      times.begin('model')
    }
    this.abandon(callId, now())
    return new CallRecorder(this, this.add(callId, now()), traced, now)
  }

  traceparentOf(callId: string): string | undefined {
    return this.tracer?.traceparentOf(callId)
  }

  /** The model call of a turn has ended with its reply. */
  endTurn({ usage, finish, message, startedAt, endedAt }: TurnEvent, callId?: string): void {
    const begun = this.find(callId) ?? this.add(callId, startedAt)
    this.remove(begun)
    const { attempts = [] } = begun
    const prices = this.options.agent.findPrices(usage.model, usage.place)
    const cost = prices && costOf(usage, prices)
    const isUnread = callId !== undefined || this.isPlanning
    const reply =
      isUnread || message.toolCalls.length > 0 || message.sources || message.artifacts ? this.toReply(message, isUnread) : undefined
    const { n, from, firstTextAt } = begun
    const record: ModelRecord = {
      type: 'model',
      n,
      from,
      startedAt: begun.startedAt,
      to: this.options.log.events.length,
      endedAt,
      usage,
      finish,
    }
    if (callId !== undefined) record.callId = callId
    if (firstTextAt !== undefined) record.firstTextAt = firstTextAt
    if (attempts.length > 1 || attempts[0]?.held) record.attempts = attempts
    if (cost !== undefined) record.cost = cost
    if (message.toolCalls.length > 0) record.calls = message.toolCalls.map(({ id }) => id)
    if (reply) record.reply = reply
    this.complete.push(record)
  }

  private toReply({ text, toolCalls, sources, artifacts }: AssistantMessage, isUnread: boolean): ReplyRecord | undefined {
    const reply: ReplyRecord = {
      ...(isUnread ? { text } : {}),
      ...(toolCalls.length > 0 ? { requested: toolCalls.map(({ name, arguments: input }) => ({ name, arguments: input })) } : {}),
      ...(sources ? { sources } : {}),
      ...(artifacts ? { artifacts } : {}),
    }
    this.replyCharacters += charactersIn(reply)
    return this.replyCharacters <= maxReplyCharacters ? reply : undefined
  }

  /** Records the times of the run so far, with those of earlier attempts. */
  measured(sums: PhaseSums): void {
    this.complete.push({ type: 'times', ...roundSums(sums) })
  }

  showPictures(callId: string, names: string[]): void {
    this.complete.push({ type: 'pictures', callId, names })
  }

  cutOff(callId: string): void {
    this.complete.push({ type: 'cut_off', callId })
  }

  /** A tool call has its result: a model call in it that is still open has failed or was cancelled. */
  endCall(callId: string, now: number): void {
    this.abandon(callId, now)
  }

  /** The run has ended: open model calls have failed or were cancelled. */
  close(now: number): void {
    for (const { callId } of this.open) this.abandon(callId, now)
  }

  /** A call whose first attempt is refused was never made. The wait of a paused run is an approval. */
  refuse(record: ModelRecord, { model, at, error }: { model: string; at: number; error: BudgetSpent }): void {
    const { callId, attempts } = record
    if (!attempts) {
      this.remove(record)
      this.calls--
    }
    if (error.onExceeded === 'pause') return
    const { budget, needed, details } = error
    this.complete.push({ type: 'budget', at, ...(callId !== undefined && { callId }), model, budget, needed, details })
  }

  private add(callId: string | undefined, startedAt: number): ModelRecord {
    const record: ModelRecord = {
      type: 'model',
      n: ++this.calls,
      ...(callId !== undefined && { callId }),
      from: this.options.log.events.length,
      startedAt,
    }
    this.open = this.open.concat(record)
    return record
  }

  private find(callId: string | undefined): ModelRecord | undefined {
    return this.open.find((record) => record.callId === callId)
  }

  private remove(record: ModelRecord): void {
    this.open = this.open.length === 1 ? noCalls : this.open.filter((other) => other !== record)
  }

  private abandon(callId: string | undefined, now: number): void {
    const record = this.find(callId)
    if (!record) return
    this.remove(record)
    this.complete.push({ ...record, to: this.options.log.events.length, endedAt: record.attempts?.at(-1)?.endedAt ?? now })
  }
}

/** Shared by all runs without an open call. */
const noCalls: readonly ModelRecord[] = []

/** Records the attempts of a model call. */
class CallRecorder implements ModelCallTrace {
  private readonly recorder: TraceRecorder
  readonly record: ModelRecord
  private readonly traced: ModelCallTrace | undefined
  readonly now: () => number

  constructor(recorder: TraceRecorder, record: ModelRecord, traced: ModelCallTrace | undefined, now: () => number) {
    this.recorder = recorder
    this.record = record
    this.traced = traced
    this.now = now
  }

  attempt(model: Model, request: ModelRequest, held: PaidAmount | undefined): ModelAttempt {
    const attempt: AttemptRecord = { model: model.name, startedAt: this.now(), ...(held && { held }) }
    this.record.attempts = this.record.attempts?.concat(attempt) ?? [attempt]
    return new AttemptRecorder(this, attempt, this.traced?.attempt(model, request))
  }

  refused(model: Model, error: unknown): void {
    if (error instanceof BudgetSpent) this.recorder.refuse(this.record, { model: model.name, at: this.now(), error })
  }
}

class AttemptRecorder implements ModelAttempt {
  readonly traceparent: string | undefined
  private readonly call: CallRecorder
  private readonly attempt: AttemptRecord
  private readonly traced: ModelAttempt | undefined

  constructor(call: CallRecorder, attempt: AttemptRecord, traced: ModelAttempt | undefined) {
    this.traceparent = traced?.traceparent
    this.call = call
    this.attempt = attempt
    this.traced = traced
  }

  onFirstEvent(): void {
    this.call.record.firstTextAt = this.call.now()
  }

  end(outcome: Parameters<ModelAttempt['end']>[0], settled: PaidAmount | undefined): void {
    const { attempt, call, traced } = this
    attempt.endedAt = call.now()
    if (settled) attempt.settled = settled
    if (outcome.error) {
      attempt.error = { type: outcome.error.code, message: outcome.error.message.slice(0, maxMessage) }
      delete call.record.firstTextAt
    }
    traced?.end(outcome)
  }
}

const maxMessage = 500
/** Characters of the replies that the records of a run keep. */
const maxReplyCharacters = 524_288

/** The record of a run that shows the agent's instructions alone, by configuration. */
const plainRecords = new WeakMap<AgentConfig, ShownRecord>()

function toPlainRecord(config: AgentConfig): ShownRecord {
  const record: ShownRecord = { type: 'shown', system: hash('sha256', config.instructions).slice(0, 16) }
  plainRecords.set(config, record)
  return record
}

function isShown({ type }: TraceRecord): boolean {
  return type === 'shown'
}
