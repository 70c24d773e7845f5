import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider, type SpanExporter } from '@opentelemetry/sdk-trace'
import type { LiveRun } from '../runs/ownership/live-run.ts'
import type { RunObserver } from '../runs/run-observer.ts'
import { maxContent } from './attributes.ts'
import { RunSpans } from './run-spans.ts'
import { createSafeTrace } from './safe-trace.ts'
import { settlesWithin } from '../concurrency/settles-within.ts'

export interface TracingOptions {
  /** The collector's base address, without a slash at the end; `/v1/traces` is put behind it. */
  endpoint: string
  serviceName: string
  version: string
  /** Whether spans hold what was said, and what tools took and gave. */
  captureContent: boolean
  /** A collector that can't be reached, a span that can't be made: told once in a while. */
  onError(error: unknown): void
}

export interface Tracing {
  observer: RunObserver
  /** Sends what is left, for two seconds at most. */
  close(): Promise<void>
}

/** How long one export may take, retries included; spans that can't be sent in it are dropped. */
const exportMs = 2000

/** Spans of runs, by OTLP over HTTP. Nothing is registered globally; headers and certificates come from the standard OTEL_ variables. */
export function createTracing({ endpoint, serviceName, version, captureContent, onError }: TracingOptions): Tracing {
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: exportMs })
  const own = resourceFromAttributes({ 'service.name': serviceName, 'service.version': version })
  const provider = new TracerProvider({
    resource: detectResources({ detectors: [envDetector] }).merge(own),
    spanLimits: { attributeValueLengthLimit: maxContent },
    spanProcessors: [new BatchSpanProcessor({ exporter: telling(exporter, onError) })],
  })
  const tracer = provider.getTracer('agent-core', version)
  const spans = new WeakMap<LiveRun, RunSpans>()

  /** A trace is never worth a run. */
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
        const own = spans.get(run)
        return own && createSafeTrace(own, onError)
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

/** The processor drops what could not be sent without a word. */
function telling(exporter: SpanExporter, onError: (error: unknown) => void): SpanExporter {
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.error) onError(result.error)
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
  }
}
