import type { FastifyRequest } from 'fastify'

const known = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/
const maxLength = 256

/** The caller's span by W3C Trace Context; one that is not valid is as good as none, as the standard asks. */
export function traceparentOf({ headers: { traceparent } }: Pick<FastifyRequest, 'headers'>): string | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > maxLength) return undefined
  const [, version, traceId, spanId, more] = known.exec(traceparent) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined
  return /[^0]/.test(traceId!) && /[^0]/.test(spanId!) ? traceparent : undefined
}
