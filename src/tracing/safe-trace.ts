import type { ModelAttempt } from '../agent/model.ts'
import type { RunTrace } from '../agent/trace.ts'

/** Wraps a trace so that none of its errors reaches the agent: errors are reported, and the call goes untraced. */
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
