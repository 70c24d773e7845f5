import type { FastifyRequest } from 'fastify'
import { invalid } from '../errors.ts'
import type { Principal } from '../access/principal.ts'
import { contextHeaders } from './chat-request.ts'

/** Who is served by one exchange, and what they said beside their message. */
export interface Caller {
  principal: Principal
  request: FastifyRequest
  /** Aborted when the exchange is over, or cancelled. */
  disconnected: AbortSignal
}

/** Of all context in one message; that of headers is bounded by Node in the same way. */
const maxContextCharacters = 16_384

/** What may stand in an HTTP header (RFC 9110, 5.1 and 5.5), since some tools get it as one. */
const fitsName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/
const fitsValue = /^[\t\x20-\x7e\x80-\xff]*$/

/** The caller's context for tools: `stix*` headers, and entries of the message's own metadata whose name starts so; these win. */
export function contextOf(request: FastifyRequest, meta: Readonly<Record<string, unknown>> = {}, name = '_meta'): Record<string, string> {
  const found = contextHeaders(request)
  let characters = 0
  for (const [key, value] of Object.entries(meta)) {
    const header = key.toLowerCase()
    if (!header.startsWith('stix')) continue
    const at = ['body', 'params', name, key.slice(0, 100)]
    if (!fitsName.test(header) || typeof value !== 'string' || !fitsValue.test(value)) throw invalid(at, 'must fit into an HTTP header')
    characters += header.length + value.length
    if (characters > maxContextCharacters) throw invalid(at, `is too long: at most ${maxContextCharacters} characters of context are taken`)
    found[header] = value
  }
  return found
}
