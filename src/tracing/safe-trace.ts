import type { ModelAttempt } from '../agent/model.ts'
import type { RunTrace } from '../agent/trace.ts'

/** The same trace for the agent, which no fault of it may reach: what fails is told, and goes untraced. */
export function createSafeTrace(trace: RunTrace, onError: (error: unknown) => void): RunTrace {
  function attempt<T>(work: () => T, otherwise: T): T {
    try {
      return work()
    } catch (error) {
      onError(error)
      return otherwise
    }
  }

  return {
    modelCall(callId) {
      const call = attempt(() => trace.modelCall(callId), untraced)
      return {
        attempt(model, request): ModelAttempt {
          const { traceparent, end } = attempt(() => call.attempt(model, request), untracedAttempt)
          return { traceparent, end: (outcome) => attempt(() => end(outcome), undefined) }
        },
      }
    },
    traceparentOf: (callId) => attempt(() => trace.traceparentOf(callId), undefined),
  }
}

const untracedAttempt: ModelAttempt = { traceparent: undefined, end: () => undefined }
const untraced = { attempt: () => untracedAttempt }
