import type { AgentEvent } from '../agent/events.ts'
import type { RunTrace } from '../agent/model.ts'
import type { LiveRun } from './ownership/live-run.ts'
import type { Logger } from 'pino'
import type { Job } from './jobs.ts'

/** Events for observers: starts and ends of model calls and steps, but no text. */
export type ObservedEvent = Exclude<
  AgentEvent,
  { type: 'text' | 'retrying' | 'user_message' | 'result' | 'instruction' | 'approved_start' | 'suspension' }
>

/** Port: an observer of all runs, for traces and metrics. Functions are called synchronously and must not throw. */
export interface RunObserver {
  /** The run has its session and is started or resumed. */
  started(run: LiveRun): void
  /** The run has emitted an event. */
  saw(run: LiveRun, event: ObservedEvent): void
  /** The trace context of a running run; undefined or absent where the observer makes no traces. */
  traceOf?(run: LiveRun): RunTrace | undefined
  /** The last event is in the log, or another process has taken the run over and the log has no last event. */
  ended(run: LiveRun): void
}

/** Several observers as a single observer. */
export function combineObservers(observers: readonly RunObserver[]): RunObserver {
  return {
    started(run) {
      for (const observer of observers) observer.started(run)
    },
    traceOf(run) {
      for (const observer of observers) {
        const trace = observer.traceOf?.(run)
        if (trace) return trace
      }
      return undefined
    },
    saw(run, event) {
      for (const observer of observers) observer.saw(run, event)
    },
    ended(run) {
      for (const observer of observers) observer.ended(run)
    },
  }
}

/** Logs an internal error; the caller does not see the error. */
export function logFault(log: Logger): (run: LiveRun, err: unknown) => void {
  return ({ key }, err) => log.error({ requestId: key.requestId, tenant: key.tenant, err }, 'internal error in a run')
}

/** Logs a failed summary; the conversation continues without a new summary. */
export function logSummary(log: Logger): (job: Job<'summary'>, err: Error) => void {
  return ({ tenant, data: { session }, attempt }, { message }) => log.warn({ tenant, session, attempt, reason: message }, 'summary failed')
}
