import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider, type SpanExporter } from '@opentelemetry/sdk-trace'
import type { ModelAttempt, RunTrace } from '../agent/model.ts'
import { settlesWithin } from '../concurrency/settles-within.ts'
import type { LiveRun } from '../runs/ownership/live-run.ts'
import type { RunObserver } from '../runs/run-observer.ts'
import { maxContent } from './attributes.ts'
import { RunSpans } from './run-spans.ts'

interface TracingOptions {
  /** The collector's base URL, without a trailing slash; `/v1/traces` is appended. */
  endpoint: string
  serviceName: string
  version: string
  /** True to include messages, tool inputs and tool outputs in spans. */
  captureContent: boolean
  /** Reports an unreachable collector or a failed span. */
  onError(error: unknown): void
}

export interface Tracing {
  observer: RunObserver
  /** Sends the remaining spans, within two seconds. */
  close(): Promise<void>
}

/** Time limit of one export, including retries; unsent spans are dropped. */
const exportMs = 2000

/**
 * Exports spans of runs by OTLP over HTTP. Nothing is registered globally; headers and certificates come from the
 * standard OTEL_ variables.
 */
export function createTracing({ endpoint, serviceName, version, captureContent, onError }: TracingOptions): Tracing {
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: exportMs })
  const serviceResource = resourceFromAttributes({ 'service.name': serviceName, 'service.version': version })
  const provider = new TracerProvider({
    resource: detectResources({ detectors: [envDetector] }).merge(serviceResource),
    spanLimits: { attributeValueLengthLimit: maxContent },
    spanProcessors: [new BatchSpanProcessor({ exporter: reportingErrors(exporter, onError) })],
  })
  const tracer = provider.getTracer('agent-core', version)
  const spans = new WeakMap<LiveRun, RunSpans>()

  /** An error in tracing must never fail a run. */
  function safely(work: () => void): void {
    try {
      work()
    } catch (error) {
      onError(error)
    }
  }

  return {
    observer: {
      started: (run) => safely(() => spans.set(run, new RunSpans(run, tracer, captureContent))),
      traceOf(run) {
        const runSpans = spans.get(run)
        return runSpans && createSafeTrace(runSpans, onError)
      },
      saw: (run, event) => safely(() => spans.get(run)?.saw(event)),
      ended: (run) =>
        safely(() => {
          spans.get(run)?.end()
          spans.delete(run)
        }),
    },
    async close() {
      await settlesWithin(provider.shutdown(), exportMs)
    },
  }
}

/** Reports failed exports, which the processor drops silently. */
function reportingErrors(exporter: SpanExporter, onError: (error: unknown) => void): SpanExporter {
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.error) onError(result.error)
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
  }
}

/** Wraps a trace so that none of its errors reaches the agent: errors are reported, and the call goes untraced. */
function createSafeTrace(trace: RunTrace, onError: (error: unknown) => void): RunTrace {
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
