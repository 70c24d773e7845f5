import type { AgentEvent } from '../agent/events.ts'
import type { RunTrace } from '../agent/trace.ts'
import type { LiveRun } from './ownership/live-run.ts'

/** The events that an observer sees: starts and ends of model calls and steps, never text as it arrives. */
export type ObservedEvent = Exclude<
  AgentEvent,
  { type: 'text' | 'retrying' | 'result' | 'instruction' | 'approved_start' | 'interrupt' | 'end' }
>

/** Port: somebody who follows runs from outside, for traces and figures. It is told as things happen, must not throw, and makes nothing wait. */
export interface RunObserver {
  /** The run has its session and begins, or goes on. */
  started(run: LiveRun): void
  saw(run: LiveRun, event: ObservedEvent): void
  /** How the run stands in a trace, while it runs; undefined, or absent, where this observer makes none. */
  traceOf?(run: LiveRun): RunTrace | undefined
  /** Its last event is in its log; or another process goes on with it, and there is none. */
  ended(run: LiveRun): void
}

/** Several as one. */
export function combineObservers(observers: readonly RunObserver[]): RunObserver {
  return {
    started(run) {
      for (const one of observers) one.started(run)
    },
    traceOf(run) {
      for (const one of observers) {
        const trace = one.traceOf?.(run)
        if (trace) return trace
      }
      return undefined
    },
    saw(run, event) {
      for (const one of observers) one.saw(run, event)
    },
    ended(run) {
      for (const one of observers) one.ended(run)
    },
  }
}
