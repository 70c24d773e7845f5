import type { Logger } from 'pino'
import type { TracingSettings } from '../settings/settings.ts'
import type { Tracing } from '../tracing/tracing.ts'

interface TracingOptions {
  tracing: TracingSettings | undefined
  version: string
  log: Logger
}

/** Opens tracing when configured. The packages are imported only then, which takes a tenth of a second. */
export async function openTracing(stack: AsyncDisposableStack, { tracing, version, log }: TracingOptions): Promise<Tracing | undefined> {
  if (!tracing) return undefined
  const { createTracing } = await import('../tracing/tracing.ts')
  let loggedAt = -Infinity
  function onError(err: unknown): void {
    if (Date.now() - loggedAt < logEveryMs) return
    loggedAt = Date.now()
    log.warn({ err }, 'Traces cannot be sent')
  }
  return stack.adopt(createTracing({ ...tracing, version, onError }), (tracer) => tracer.close())
}

const logEveryMs = 60_000
