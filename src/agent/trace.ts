import type { ModelCallTrace } from './model.ts'

/** Port: how what a run sends to others stands in a distributed trace. Its methods must not throw, and are called once a call, never per token. */
export interface RunTrace {
  /** Follows a model call of the agent that runs inside of this tool call; `undefined`: of the run's own agent. */
  modelCall(callId: string | undefined): ModelCallTrace
  /** W3C `traceparent` for the requests that a tool call makes. */
  traceparentOf(callId: string): string | undefined
}

/** Where nobody traces here, the caller's trace goes on beyond (W3C Trace Context, "forwarding"). */
export function forwardTrace(traceparent: string | undefined): RunTrace | undefined {
  if (traceparent === undefined) return undefined
  const attempt = { traceparent, end: () => undefined }
  const call: ModelCallTrace = { attempt: () => attempt }
  return { modelCall: () => call, traceparentOf: () => traceparent }
}
