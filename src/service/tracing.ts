import type { Logger } from 'pino'
import type { TracingSettings } from '../settings/settings.ts'
import type { Tracing } from '../tracing/tracing.ts'

interface TracingOptions {
  tracing: TracingSettings | undefined
  version: string
  log: Logger
}

/** Traces, where they are wanted: only then are their packages imported, which takes a tenth of a second. */
export async function openTracing(stack: AsyncDisposableStack, { tracing, version, log }: TracingOptions): Promise<Tracing | undefined> {
  if (!tracing) return undefined
  const { createTracing } = await import('../tracing/tracing.ts')
  let toldAt = -Infinity
  function onError(err: unknown): void {
    if (Date.now() - toldAt < tellEveryMs) return
    toldAt = Date.now()
    log.warn({ err }, 'Traces can not be sent')
  }
  return stack.adopt(createTracing({ ...tracing, version, onError }), (one) => one.close())
}

const tellEveryMs = 60_000
