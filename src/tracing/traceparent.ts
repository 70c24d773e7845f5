import { ROOT_CONTEXT, trace, type Context, type Span } from '@opentelemetry/api'

/** The context of a caller's span; `traceparent` was validated, undefined starts a new trace. */
export function parentOf(traceparent: string | undefined): Context {
  const [, traceId, spanId, flags] = traceparent?.split('-') ?? []
  if (!traceId || !spanId || !flags) return ROOT_CONTEXT
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true })
}

/** The `traceparent` of a span, for requests made inside of the span (W3C Trace Context). */
export function toTraceparent(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `00-${traceId}-${spanId}-${(traceFlags & 1).toString(16).padStart(2, '0')}`
}
