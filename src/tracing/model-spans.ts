import { SpanKind, SpanStatusCode, type Context, type Tracer } from '@opentelemetry/api'
import type { Model, ModelAttempt, ModelCallTrace, ModelRequest } from '../agent/model.ts'
import type { LiveRun } from '../runs/ownership/live-run.ts'
import { requestAttributes, replyAttributes } from './attributes.ts'
import { toTraceparent } from './traceparent.ts'

export interface ModelSpanOptions {
  run: LiveRun
  tracer: Tracer
  withContent: boolean
  /** The span of the agent that calls the model. */
  parent: Context
}

/** Traces a model call: one span `chat` per attempt at a model, including failed attempts and fallbacks. */
export function createModelSpans({ run, tracer, withContent, parent }: ModelSpanOptions): ModelCallTrace {
  let attempts = 0

  function attempt(model: Model, request: ModelRequest): ModelAttempt {
    const attributes = { ...requestAttributes(run, model, request, withContent), 'agent_core.model.attempt': ++attempts }
    const span = tracer.startSpan(`chat ${model.name}`, { kind: SpanKind.CLIENT, attributes }, parent)
    return {
      traceparent: toTraceparent(span),
      end({ reply, error }) {
        if (reply) span.setAttributes(replyAttributes(reply, withContent))
        if (error || !reply) {
          const type = error?.code ?? 'cancelled'
          const message = error === undefined ? {} : { message: error.message }
          span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR, ...message })
        }
        span.end()
      },
    }
  }

  return { attempt }
}
