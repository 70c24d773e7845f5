import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Context, type Span, type Tracer } from '@opentelemetry/api'
import type { Step, StepStart } from '../agent/events.ts'
import type { ModelCallTrace, Model, ModelAttempt, ModelRequest, RunTrace } from '../agent/model.ts'
import { errorOf } from '../runs/log/outcome.ts'
import type { LiveRun } from '../runs/ownership/live-run.ts'
import type { ObservedEvent } from '../runs/run-observer.ts'
import { endAttributes, runAttributes, toolAttributes, toolEndAttributes, requestAttributes, replyAttributes } from './attributes.ts'

/**
 * Traces a run: a span `invoke_agent`, inside of it `chat` for each model call and `execute_tool` for each step; steps
 * of sub-agents are below their call.
 */
export class RunSpans implements RunTrace {
  private readonly run: LiveRun
  private readonly tracer: Tracer
  private readonly withContent: boolean
  private readonly root: Span
  private readonly steps = new Map<string, Span>()
  /** Maps a sub-agent's call to the call in which that sub-agent runs. */
  private readonly callers = new Map<string, string>()

  constructor(run: LiveRun, tracer: Tracer, withContent: boolean) {
    this.run = run
    this.tracer = tracer
    this.withContent = withContent
    const options = {
      kind: SpanKind.INTERNAL,
      attributes: runAttributes(run, withContent),
      ...(run.startedAt && { startTime: run.startedAt }),
    }
    this.root = tracer.startSpan(`invoke_agent ${run.agent.config.name}`, options, parentOf(run.request.traceparent))
  }

  saw(event: ObservedEvent): void {
    switch (event.type) {
      case 'step_start':
        return this.startStep(event.step)
      case 'step_end':
        return this.endStep(event.step)
      case 'nested':
        if (event.event.type === 'result') return this.endStep(event.event.step)
        if (event.event.type !== 'turn') return
        for (const { id } of event.event.message.toolCalls) this.callers.set(id, event.callId)
        return
      // Model calls have spans of their own: `modelCall`.
      case 'turn':
      case 'progress':
    }
  }

  /**
   * Ends all spans. Steps without an end were cancelled, and so was the run when its log has no end. A run that waits
   * for approval resumes under another span.
   */
  end(): void {
    const isWaiting = this.run.log.interrupted
    for (const span of this.steps.values()) (isWaiting ? span : fail(span, 'cancelled')).end()
    const end = this.run.log.events.at(-1)
    if (end?.type === 'end') {
      this.root.setAttributes(endAttributes(this.run, end, this.withContent))
      const error = errorOf(end)
      if (end.reason === 'timeout') fail(this.root, 'timeout')
      else if (error && end.error) fail(this.root, error.details?.error_type ?? 'error', error.body)
    } else if (isWaiting) this.root.setAttribute('agent_core.waits_for_approval', true)
    else fail(this.root, 'given_up')
    this.root.end()
  }

  modelCall(callId: string | undefined): ModelCallTrace {
    const { run, tracer, withContent } = this
    const asking = (callId === undefined ? undefined : this.steps.get(callId)) ?? this.root
    return createModelSpans({ run, tracer, withContent, parent: within(asking) })
  }

  traceparentOf(callId: string): string {
    return toTraceparent(this.steps.get(callId) ?? this.root)
  }

  private startStep(step: StepStart): void {
    const caller = this.steps.get(this.callers.get(step.id) ?? '') ?? this.root
    const options = { kind: SpanKind.INTERNAL, startTime: step.startedAt, attributes: toolAttributes(this.run, step, this.withContent) }
    this.steps.set(step.id, this.tracer.startSpan(`execute_tool ${step.tool}`, options, within(caller)))
  }

  private endStep(step: Step): void {
    const span = this.steps.get(step.id)
    if (!span) return
    this.steps.delete(step.id)
    span.setAttributes(toolEndAttributes(step, this.withContent))
    if (step.status === 'error') fail(span, 'tool_error')
    span.end(step.startedAt + step.durationMs)
  }
}

function within(parent: Span): Context {
  return trace.setSpan(ROOT_CONTEXT, parent)
}

function fail(span: Span, type: string, message?: string): Span {
  return span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) })
}

interface ModelSpanOptions {
  run: LiveRun
  tracer: Tracer
  withContent: boolean
  /** The span of the agent that calls the model. */
  parent: Context
}

/** Traces a model call: one span `chat` per attempt at a model, including failed attempts and fallbacks. */
function createModelSpans({ run, tracer, withContent, parent }: ModelSpanOptions): ModelCallTrace {
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

/** The context of a caller's span; `traceparent` was validated, undefined starts a new trace. */
function parentOf(traceparent: string | undefined): Context {
  const [, traceId, spanId, flags] = traceparent?.split('-') ?? []
  if (!traceId || !spanId || !flags) return ROOT_CONTEXT
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true })
}

/** The `traceparent` of a span, for requests made inside of the span (W3C Trace Context). */
function toTraceparent(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `00-${traceId}-${spanId}-${(traceFlags & 1).toString(16).padStart(2, '0')}`
}
