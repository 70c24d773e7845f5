import type { TurnEvent } from '../../agent/events.ts'
import type { Instruction } from '../../agent/messages.ts'
import { BudgetSpent } from '../../agent/meter.ts'
import type { ModelErrorCode, ModelReply, ModelUsage, ModelAttempt, ModelCallTrace, PaidAmount, RunTrace } from '../../agent/model.ts'
import { roundSums, type PhaseSums, type PhaseTimes } from '../../concurrency/phase-times.ts'
import type { Agent } from '../../configuration/agent.ts'
import { costOf } from '../../configuration/model-schema.ts'

/**
 * Parts of a run's trace that the numbered events do not hold. The records of a run are stored with its checkpoints and its log, in order;
 * times are epoch milliseconds.
 */
export type TraceRecord = HeldRecord | ModelRecord | InstructionRecord | WaitRecord | CutOffRecord | TimesRecord | BudgetRecord

/** A process has begun to execute the run. */
export interface HeldRecord {
  type: 'held'
  at: number
  /** Id of the process. */
  holder: string
  fence: number
  /** True where the run waited for its session or for a worker. */
  isQueued?: true
  /** The process before, where the store knew it, and why the run changed its process; absent for a new run. */
  from?: string
  cause?: MoveCause
  /** Index of the first message of the session that the model was shown; absent: 0. */
  window?: number
}

/**
 * Why a process continues a run. `lost`: the process before died. `handed_over`: the process before stopped. `approval`: the calls were
 * decided. `repeat`: the caller repeated a failed request.
 */
type MoveCause = 'lost' | 'handed_over' | 'approval' | 'repeat'

/** A model call. */
export interface ModelRecord {
  type: 'model'
  /** Number of the call within the run, from 1. */
  n: number
  /** The tool call in which the agent runs; absent for the run's own agent. */
  callId?: string
  /** Number of events in the log when the call began and when it ended. */
  from: number
  to?: number
  startedAt: number
  /** Absent while the call runs. */
  endedAt?: number
  firstTextAt?: number
  /** Absent where the first attempt was successful. */
  attempts?: AttemptRecord[]
  /** Absent for a call that runs, failed or was cancelled. */
  usage?: ModelUsage
  finish?: ModelReply['finish']
  /** USD, where prices are configured. */
  cost?: number
  /** Ids of the requested tool calls; absent for none. */
  calls?: string[]
}

export interface AttemptRecord {
  model: string
  startedAt: number
  endedAt?: number
  error?: { type: ModelErrorCode; message: string }
  /** The reservation and the cost of the attempt; absent for an agent without budgets. */
  held?: PaidAmount
  settled?: PaidAmount
}

/** A budget has refused a model call. */
export interface BudgetRecord {
  type: 'budget'
  at: number
  /** The tool call in which the agent runs; absent for the run's own agent. */
  callId?: string
  model: string
  budget: string
  /** The least amount for the call. */
  needed: Record<string, number>
  /** The details of the error: amounts for the caller of the run alone. */
  details: Readonly<Record<string, unknown>>
}

/** The loop has given the model an instruction, such as a step of a plan. */
export interface InstructionRecord {
  type: 'instruction'
  /** Number of the first model call behind the instruction. */
  n: number
  at: number
  callId?: string
  instruction: Instruction
}

/** The run waited for a slow or an absent reader. */
export interface WaitRecord {
  type: 'wait'
  startedAt: number
  /** Absent while the run waits. */
  endedAt?: number
}

/** A tool call was stopped together with its run; the outcome is unknown. */
interface CutOffRecord {
  type: 'cut_off'
  callId: string
}

/** Milliseconds in each phase of the run, with those of earlier attempts; the last record counts. */
export interface TimesRecord extends PhaseSums {
  type: 'times'
}

interface RecorderOptions {
  /** The log of the run. */
  log: { readonly events: { readonly length: number } }
  agent: Pick<Agent, 'config' | 'findPrices'>
  /** Measures the model calls of the run's own agent. Those of other agents are a part of their tool call. */
  times?: PhaseTimes
}

/** Records what the trace of a live run needs beside the numbered events. Called a few times per model call, never per token. */
export class TraceRecorder {
  private readonly options: RecorderOptions
  private readonly complete: TraceRecord[] = []
  /** Model calls without an end, by the tool call in which their agent runs; undefined for the run's own agent. */
  private readonly open = new Map<string | undefined, ModelRecord>()
  private wait: WaitRecord | undefined
  private calls = 0

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
    return [...this.complete, ...this.open.values(), ...(this.wait ? [this.wait] : [])]
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

  instruct(instruction: Instruction, at: number, callId?: string): void {
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

  /** A trace that records model calls, and passes each on to `tracer`. */
  over(tracer: RunTrace | undefined, now: () => number): RunTrace {
    return {
      modelCall: (callId) => this.begin(callId, tracer?.modelCall(callId), now),
      traceparentOf: (callId) => tracer?.traceparentOf(callId),
    }
  }

  /** The model call of a turn has ended with its reply. */
  endTurn({ usage, finish, message, startedAt, endedAt }: TurnEvent, callId?: string): void {
    const begun = this.open.get(callId) ?? this.add(callId, startedAt)
    this.open.delete(callId)
    const { attempts = [], ...record } = begun
    const prices = this.options.agent.findPrices(usage.model, usage.place)
    const cost = prices && costOf(usage, prices)
    this.complete.push({
      ...record,
      to: this.options.log.events.length,
      endedAt,
      ...(attempts.length > 1 || attempts[0]?.held ? { attempts } : {}),
      usage,
      finish,
      ...(cost === undefined ? {} : { cost }),
      ...(message.toolCalls.length > 0 ? { calls: message.toolCalls.map(({ id }) => id) } : {}),
    })
  }

  /** Records the times of the run so far, with those of earlier attempts. */
  measured(sums: PhaseSums): void {
    this.complete.push({ type: 'times', ...roundSums(sums) })
  }

  cutOff(callId: string): void {
    this.complete.push({ type: 'cut_off', callId })
  }

  /** A tool call has its result: a model call in it that is still open has failed or was cancelled. */
  endCall(callId: string, now: number): void {
    if (this.open.size > 0) this.abandon(callId, now)
  }

  /** The run has ended: open model calls have failed or were cancelled. */
  close(now: number): void {
    for (const callId of [...this.open.keys()]) this.abandon(callId, now)
  }

  private begin(callId: string | undefined, traced: ModelCallTrace | undefined, now: () => number): ModelCallTrace {
    const { times } = this.options
    if (times && callId === undefined) {
      times.endAll('model')
      times.begin('model')
    }
    if (this.open.size > 0) this.abandon(callId, now())
    const record = this.add(callId, now())
    const attempts: AttemptRecord[] = (record.attempts = [])
    return {
      attempt(model, request, held): ModelAttempt {
        const attempt: AttemptRecord = { model: model.name, startedAt: now(), ...(held && { held }) }
        attempts.push(attempt)
        const other = traced?.attempt(model, request)
        return {
          traceparent: other?.traceparent,
          onFirstEvent: () => void (record.firstTextAt = now()),
          end(outcome, settled) {
            attempt.endedAt = now()
            if (settled) attempt.settled = settled
            if (outcome.error) {
              attempt.error = { type: outcome.error.code, message: outcome.error.message.slice(0, maxMessage) }
              delete record.firstTextAt
            }
            other?.end(outcome)
          },
        }
      },
      refused: (model, error) => error instanceof BudgetSpent && this.refuse(record, { model: model.name, at: now(), error }),
    }
  }

  /** A call whose first attempt is refused was never made. The wait of a paused run is an approval. */
  private refuse({ callId, attempts }: ModelRecord, { model, at, error }: { model: string; at: number; error: BudgetSpent }): void {
    if (attempts?.length === 0) {
      this.open.delete(callId)
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
    this.open.set(callId, record)
    return record
  }

  private abandon(callId: string | undefined, now: number): void {
    const record = this.open.get(callId)
    if (!record) return
    this.open.delete(callId)
    this.complete.push({ ...record, to: this.options.log.events.length, endedAt: record.attempts?.at(-1)?.endedAt ?? now })
  }
}

const maxMessage = 500
