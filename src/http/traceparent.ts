import type { FastifyRequest } from 'fastify'

const pattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/
const maxLength = 256

/** The caller's `traceparent` (W3C Trace Context). An invalid header is ignored, as the standard requires. */
export function traceparentOf({ headers: { traceparent } }: Pick<FastifyRequest, 'headers'>): string | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > maxLength) return undefined
  const [, version, traceId, spanId, extension] = pattern.exec(traceparent) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && extension !== undefined)) return undefined
  return /[^0]/.test(traceId!) && /[^0]/.test(spanId!) ? traceparent : undefined
}
