import type { ModelCallTrace } from './model.ts'

/**
 * Port: puts a run's outgoing requests into a distributed trace. Methods must not throw, and are called once per call,
 * never per token.
 */
export interface RunTrace {
  /** Traces a model call of the agent inside of this tool call; `undefined`: of the run's own agent. */
  modelCall(callId: string | undefined): ModelCallTrace
  /** W3C `traceparent` for the requests of a tool call. */
  traceparentOf(callId: string): string | undefined
}

/** Forwards the caller's trace when this service does not trace (W3C Trace Context, "forwarding"). */
export function forwardTrace(traceparent: string): RunTrace {
  const attempt = { traceparent, end: () => undefined }
  const call: ModelCallTrace = { attempt: () => attempt }
  return { modelCall: () => call, traceparentOf: () => traceparent }
}
