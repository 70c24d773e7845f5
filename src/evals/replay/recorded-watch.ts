import type { AgentEvent, Emit, LoopOutcome, Step, StepStart, TurnEvent } from '../../agent/events.ts'
import type { LoopOptions } from '../../agent/options.ts'
import { toStableJson } from '../../configuration/parse.ts'
import type { EventLog } from '../../runs/log/event-log.ts'
import type { LastEvent, LoggedEvent } from '../../runs/run.ts'
import type { RecordedReply } from '../example.ts'
import type { Order } from './order.ts'
import { Watch, type WatchOptions } from './watch.ts'

interface RecordedWatchOptions extends WatchOptions {
  order: Order
  events: readonly LoggedEvent[]
  replies: readonly RecordedReply[]
  /** The log of the attempt that runs now. */
  log(): EventLog
  newId(): string
}

type StepEvent = Extract<LoggedEvent, { type: 'step_start' | 'step_end' }>

/**
 * Runs the loop of a replay with recorded replies: in the order, with the ids and at the times of the recording, so that the events are equal
 * byte by byte. The first event that differs is a divergence.
 */
export class RecordedWatch extends Watch {
  private readonly recorded: RecordedWatchOptions
  private readonly steps = new Map<string, { start?: StepStart; end?: Step }>()
  /** Recorded steps that no call has an id for, such as plans, in order; by the sub-agent. */
  private readonly unnamed: Map<string, StepStart[]>
  /** Ids of recorded steps by the ids that the loop has made. */
  private readonly ids = new Map<string, string>()
  private readonly waits: LastEvent[]
  private readonly thoughtIds: string[]
  private compared = 0
  private turns = 0
  private nextThought: string | undefined

  constructor(options: RecordedWatchOptions) {
    super(options)
    this.recorded = options
    const { events } = options
    for (const event of events) if (event.type === 'step_start' || event.type === 'step_end') this.keep(event)
    const starts = events.flatMap((event) => (event.type === 'step_start' && isUnnamed(event.step) ? [event.step] : []))
    this.unnamed = Map.groupBy(starts, nameOf)
    this.waits = events.filter((event) => event.type === 'interrupt' || event.type === 'end')
    this.thoughtIds = (this.waits.at(-1)?.thoughts ?? []).map(({ id }) => id)
  }

  /** The clock of the run: the time of the next wait or end. */
  readonly now = (): number => this.waits[0]?.at ?? Date.now()

  readonly newId = (): string => {
    const id = this.nextThought
    this.nextThought = undefined
    return id ?? this.recorded.newId()
  }

  /** Compares the events of the log that are not compared yet. */
  compare(): void {
    const { log, events, order, onDivergence } = this.recorded
    const { length } = log().events
    for (const event of log().events.slice(this.compared)) {
      const expected = events[this.compared++]
      if (expected && toStableJson(event) === toStableJson(expected)) continue
      order.abandon()
      onDivergence({ reason: 'events_differ', event: this.compared })
      break
    }
    order.advance(length)
  }

  /** The events after the last event of an attempt. */
  waited(): void {
    this.compare()
    this.waits.shift()
  }

  protected override enter(options: LoopOptions): LoopOptions {
    this.compare()
    return super.enter(options)
  }

  protected override leave(outcome: LoopOutcome): LoopOutcome {
    const [wait] = this.waits
    if (outcome.type !== 'interrupt' || wait?.type !== 'interrupt') return outcome
    // Agents that run in parallel may wait in another order.
    const places = new Map(wait.calls.map(({ callId }, index) => [callId, index]))
    return { ...outcome, calls: outcome.calls.toSorted((a, b) => (places.get(a.callId) ?? Infinity) - (places.get(b.callId) ?? Infinity)) }
  }

  protected override pass(receive: Emit): Emit {
    return (event) => {
      const stamped = this.stamp(event)
      this.note(stamped)
      const storing = receive(stamped)
      if (storing) return storing.then(() => this.passed(stamped))
      this.passed(stamped)
      return undefined
    }
  }

  private passed(event: AgentEvent): void {
    this.compare()
    if (event.type === 'turn' || (event.type === 'nested' && event.event.type === 'turn')) this.recorded.order.replied()
  }

  private keep({ type, step }: StepEvent): void {
    const entry = this.steps.get(step.id) ?? {}
    this.steps.set(step.id, type === 'step_start' ? { ...entry, start: entry.start ?? step } : { ...entry, end: step })
  }

  /** The event with the ids and the times of the recording. */
  private stamp(event: AgentEvent): AgentEvent {
    switch (event.type) {
      case 'step_start':
        return { ...event, step: this.stampStart(event.step) }
      case 'step_end':
        return { ...event, step: this.stampEnd(event.step) }
      case 'result':
        return { ...event, step: this.stampEnd(event.step) }
      case 'user_message': {
        const { next } = this.recorded.order
        return next?.type === 'user_message' ? { ...event, at: next.at } : event
      }
      case 'turn':
        return this.stampTurn(event)
      case 'nested':
        if (event.event.type === 'turn') return { ...event, event: this.stampTurn(event.event) }
        if (event.event.type === 'result') return { ...event, event: { ...event.event, step: this.stampEnd(event.event.step) } }
        return event
      default:
        return event
    }
  }

  private stampTurn(event: TurnEvent): TurnEvent {
    if (event.message.reasoning) this.nextThought = this.thoughtIds.shift()
    const { at } = this.recorded.replies[this.turns++] ?? {}
    return at ? { ...event, startedAt: at.startedAt, endedAt: at.endedAt } : event
  }

  private stampStart<S extends StepStart>(step: S): S {
    if (isUnnamed(step) && !this.ids.has(step.id)) {
      const recorded = this.unnamed.get(nameOf(step))?.shift()
      if (recorded) this.ids.set(step.id, recorded.id)
    }
    const id = this.ids.get(step.id) ?? step.id
    const { startedAt = step.startedAt } = this.steps.get(id)?.start ?? {}
    return { ...step, id, startedAt }
  }

  private stampEnd(step: Step): Step {
    const stamped = this.stampStart(step)
    const { durationMs = step.durationMs, startedAt = stamped.startedAt } = this.steps.get(stamped.id)?.end ?? {}
    return { ...stamped, startedAt, durationMs }
  }
}

function isUnnamed({ type, isOfProvider }: StepStart): boolean {
  return type === 'planning' || isOfProvider === true
}

function nameOf({ type, subAgent = '' }: StepStart): string {
  return `${type} ${subAgent}`
}
