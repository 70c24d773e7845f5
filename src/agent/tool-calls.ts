import { setImmediate as nextTurn } from 'node:timers/promises'
import { Interrupted, type PendingCall, toQuestionId, type Suspended, type Suspension } from './approval.ts'
import type { Emit, StartedWrite, StepStart } from './events.ts'
import { execute, startOf, stepOf, unknownEnd, type EndedCall, prepare, type PreparedCall } from './call.ts'
import { equalCalls } from './containment.ts'
import type { Message, Taint, ToolCall, ToolMessage } from './messages.ts'
import type { CallOptions, Loop } from './options.ts'
import { cleanTaint } from './taint.ts'
import type { InnerAgent } from './tool.ts'
import { TimeLimit } from '../concurrency/time-limit.ts'
import { namesOf } from './tool-names.ts'
import { reachState } from '../states.ts'

/** Calls of one turn that run at the same time; further reads wait. */
const maxParallelCalls = 8

/** Checks the calls of a turn, before anything runs. */
export function prepareCalls(calls: readonly ToolCall[], options: CallOptions): Promise<PreparedCall[]> {
  const toolsByName = namesOf(options.tools())
  return Promise.all(calls.map((call) => prepare(call, toolsByName, options)))
}

/** The `write` that a new turn starts with. */
export function firstStart(calls: readonly PreparedCall[], { signal }: Pick<CallOptions, 'signal'>): StartedWrite | undefined {
  const first = calls.find((call) => call.effect === 'write' && !isWaiting(call))
  return first && !signal.aborted ? startOf(first) : undefined
}

function isWaiting({ call, fault, decision }: PreparedCall): boolean {
  return call.approval !== undefined && fault === undefined && decision === undefined
}

/**
 * Runs the calls of a turn: reads in parallel, writes sequentially in the order requested. Starts and results are emitted as they happen.
 * Results join the transcript in the order requested. Calls waiting for a decision stay open, and are thrown as `Interrupted` after the
 * end of all remaining calls.
 */
export async function runCalls(
  calls: readonly PreparedCall[],
  loop: Pick<Loop, 'options' | 'emit'>,
  { resumed = false } = {},
): Promise<void> {
  const { options } = loop
  const waiting = calls.filter(isWaiting)
  const running = new RunningCalls(waiting.length === 0 ? calls : calls.filter((call) => !waiting.includes(call)), loop, resumed)
  await running.finish()
  options.messages.push(...calls.flatMap(({ call }) => running.results.get(call.id) ?? []))
  options.signal.throwIfAborted()
  const open = [...withoutEquals(waiting, options.messages).map(toPending), ...running.pending]
  if (open.length > 0) throw new Interrupted(open)
}

/** Keeps the first of equal calls held by containment alone: a person is asked once. */
function withoutEquals(waiting: readonly PreparedCall[], messages: readonly Message[]): readonly PreparedCall[] {
  if (waiting.length === 0) return waiting
  const ids = new Set(waiting.map(({ call }) => call.id))
  return waiting.filter(
    ({ call, tool }) => !call.held || tool?.approval !== undefined || !equalCalls(call, messages).some(({ id }) => ids.has(id)),
  )
}

/** A call whose start is emitted. */
interface StartedCall {
  prepared: PreparedCall
  step: StepStart
  /** True for a write that a dead process may already have executed. */
  isUnknown: boolean
  suspension: Suspension | undefined
  /** Absent while the call runs. */
  ended?: EndedCall
}

/** The calls of a turn that need no decision. */
class RunningCalls {
  /** By the id of the call. */
  readonly results = new Map<string, Message>()
  /** Calls that wait for answers to questions of the calls, or of agents inside of them. */
  readonly pending: PendingCall[] = []
  private readonly reads: PreparedCall[]
  private readonly writes: PreparedCall[]
  private readonly maybeDone: ReadonlySet<PreparedCall>
  private readonly options: CallOptions
  private readonly emit: Emit
  private readonly limit: TimeLimit
  /** True behind the last call, and after a failure of the run. A cancelled run goes on until the agents inside of calls have ended. */
  private hasEnded = false
  /** The executions of calls, in the order of their start. */
  private readonly running = new Map<StartedCall, Promise<void>>()

  constructor(calls: readonly PreparedCall[], { options, emit }: Pick<Loop, 'options' | 'emit'>, isResumed: boolean) {
    this.reads = calls.filter(({ effect }) => effect === 'read')
    this.writes = calls.filter(({ effect }) => effect === 'write')
    this.maybeDone = isResumed ? toMaybeDone(this.writes, options) : new Set()
    this.limit = new TimeLimit(options.signal)
    this.options = options
    this.emit = emit
  }

  /** Resolves when all calls have ended or wait. When an emit fails, the calls are aborted, and the failure is thrown when they have ended. */
  async finish(): Promise<void> {
    const first = this.writes.splice(0, 1)
    first.push(...this.reads.splice(0, maxParallelCalls - first.length))
    try {
      await this.start(first)
      while (this.running.size > 0) {
        await Promise.race(this.running.values())
        // Calls that end in the same turn of the event loop are reported in the order of their start.
        if (this.running.size > 1) await nextTurn()
        for (const call of [...this.running.keys()]) if (call.ended) await this.goOn(call, call.ended)
      }
    } finally {
      // Late events of a tool that ignored its signal are dropped, and agents inside of calls are stopped.
      this.leave()
      if (this.running.size > 0) await Promise.allSettled(this.running.values())
    }
  }

  /** Reports the end of a call, and starts the call that has waited for it. */
  private async goOn(call: StartedCall, ended: EndedCall): Promise<void> {
    this.running.delete(call)
    const storing = this.end(ended)
    if (storing) await storing
    // Writes behind a write that waits are not started.
    const isWriteDone = ended.call.effect === 'write' && !ended.pendingCalls
    const next = (isWriteDone ? this.writes : this.reads).shift()
    if (next) await this.start([next])
  }

  /** Emits the starts of calls, then executes the calls. */
  private async start(calls: readonly PreparedCall[]): Promise<void> {
    const started: ReturnType<RunningCalls['announce']>[] = []
    for (const prepared of calls) {
      if (this.options.pace) await this.options.pace.start(prepared.call.id)
      started.push(this.announce(prepared))
    }
    const storing = started.at(-1)?.storing
    if (storing) await storing
    for (const { call } of started) this.running.set(call, this.execute(call))
  }

  private async execute(call: StartedCall): Promise<void> {
    const { prepared, step, isUnknown, suspension } = call
    const surroundings = { options: this.options, signal: this.limit.signal, inner: this.inner, suspension }
    const ended = isUnknown ? unknownEnd(prepared, step) : await execute(prepared, step, surroundings)
    if (this.options.pace && !ended.pendingCalls) await this.options.pace.end(step.id)
    call.ended = ended
  }

  private announce(prepared: PreparedCall): { call: StartedCall; storing: Promise<void> | undefined } {
    const step = stepOf(prepared, this.options)
    const isUnknown = this.maybeDone.has(prepared)
    const suspension = isUnknown ? undefined : suspensionToResume(prepared, this.options)
    const approval = prepared.decision?.decision === 'approve' && prepared.fault === undefined ? prepared.decision : undefined
    if (suspension) void this.emit({ type: 'suspension', suspension: { ...suspension, isOver: true }, effect: prepared.effect })
    else if (approval && prepared.effect === 'write' && !isUnknown && !this.limit.signal.aborted) {
      reachState('approved-call-started')
      const { call, tool, input } = prepared
      const { salt } = approval
      void this.emit({ type: 'approved_start', callId: call.id, tool: tool?.name ?? call.name, input, ...(salt !== undefined && { salt }) })
    }
    return { call: { prepared, step, isUnknown, suspension }, storing: this.emit({ type: 'step_start', step }) }
  }

  private end({ call, step, text, images, taint, pendingCalls, suspended, executed, refusedFor }: EndedCall): Promise<void> | undefined {
    const { id: callId, name } = call.call
    const { effect } = call
    const storing = suspended && this.emit({ type: 'suspension', suspension: toSuspension(callId, suspended), effect })
    if (pendingCalls) {
      this.pending.push(...pendingCalls)
      return storing
    }
    const isError = step.status === 'error'
    const message: Message = {
      role: 'tool',
      callId,
      name,
      text,
      isError,
      ...(images.length > 0 && { images: [...images] }),
      ...this.taintOf(taint),
    }
    this.results.set(callId, message)
    const starts = effect === 'write' ? this.nextStart() : undefined
    return this.emit({
      type: 'result',
      message,
      effect,
      step,
      ...(executed && { executed }),
      ...(refusedFor && { refusedFor }),
      ...(starts && { starts }),
    })
  }

  /** The start of the write behind one that has ended. */
  private nextStart(): StartedWrite | undefined {
    const [next] = this.writes
    if (!next || this.limit.signal.aborted || this.maybeDone.has(next) || suspensionToResume(next, this.options)) return undefined
    return startOf(next)
  }

  /** A result that no tool has made, such as a refusal, is clean. */
  private taintOf(taint: Taint | undefined): Pick<ToolMessage, 'taint'> {
    return this.options.containment ? { taint: taint ?? cleanTaint } : {}
  }

  private readonly inner: InnerAgent = {
    earlierMessages: (callId) => this.options.earlierMessages?.(callId) ?? [],
    // The agent of a failed run ends by its signal; the call reports the failure.
    emit: (event) => (this.hasEnded ? undefined : this.emit(event)?.catch(() => this.leave())),
  }

  private leave(): void {
    this.hasEnded = true
    this.limit.end()
  }
}

/**
 * Writes that the dead process may already have executed. Writes run one at a time, so only the first pending write can
 * have started. Approved writes record their own start (`isStarted`). A suspended write goes on with its answers once.
 */
function toMaybeDone(writes: readonly PreparedCall[], options: CallOptions): Set<PreparedCall> {
  const first = writes.find(({ call }) => call.approval === undefined)
  const started = writes.filter((write) => write === first || (write.decision?.decision === 'approve' && write.decision.isStarted))
  return new Set(started.filter((write) => suspensionToResume(write, options) === undefined))
}

/** The suspension that a call continues when all questions have answers. */
function suspensionToResume({ call, fault }: PreparedCall, { suspensionOf, decisionFor }: CallOptions): Suspension | undefined {
  const suspension = fault === undefined ? suspensionOf?.(call.id) : undefined
  const mayResume = suspension && !suspension.isOver && suspension.questionIds.every((id) => decisionFor?.(id) !== undefined)
  return mayResume ? suspension : undefined
}

function toPending({ call, tool, input }: PreparedCall): PendingCall {
  const sources = call.held?.sources
  if (sources) reachState('call-held')
  return { callId: call.id, tool: tool?.name ?? call.name, input, by: call.approval ?? 'caller', ...(sources && { sources }) }
}

function toSuspension(callId: string, { state, questions }: Suspended): Suspension {
  return { callId, state, questionIds: questions.map(({ name }) => toQuestionId(callId, name)) }
}
