import type { FastifyRequest } from 'fastify'
import { invalid, ServiceError, statusOf } from '../../errors.ts'
import type { Principal } from '../../access/permissions.ts'
import type { Reader } from '../reader.ts'
import type { LoggedEvent } from '../../runs/run.ts'
import { ErrorReply, namedObject } from '../schemas/shared.ts'
import type { ErrorShape } from '../server/error-reply.ts'
import { contextHeaders } from '../server/request-headers.ts'
import { Type } from 'typebox'

/** What the protocols of agents, MCP and A2A, have in common. */

/** The caller of one exchange. */
export interface Caller extends Reader {
  principal: Principal
}

/** Most characters of context in one message. Node bounds the size of headers in the same way. */
const maxContextCharacters = 16_384

/** Names and values of HTTP headers (RFC 9110, 5.1 and 5.5): some tools send the context as headers. */
const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/

/** The caller's context for tools: `stix*` headers and `stix*` entries of the message's metadata. An entry overrides a header. */
export function contextOf(
  request: FastifyRequest,
  meta: Readonly<Record<string, unknown>> = {},
  metaField = '_meta',
): Record<string, string> {
  const context = contextHeaders(request)
  let characters = 0
  for (const [key, value] of Object.entries(meta)) {
    const header = key.toLowerCase()
    if (!header.startsWith('stix')) continue
    const at = ['body', 'params', metaField, key.slice(0, 100)]
    if (!headerName.test(header) || typeof value !== 'string' || !headerValue.test(value))
      throw invalid(at, 'must be text that fits into an HTTP header')
    characters += header.length + value.length
    if (characters > maxContextCharacters)
      throw invalid(at, `is too long: a message may have at most ${maxContextCharacters} characters of context`)
    context[header] = value
  }
  return context
}

/** A step of a run as a sentence; undefined for other events. */
export function stepText(event: LoggedEvent): string | undefined {
  switch (event.type) {
    case 'step_start':
      return `${event.step.tool} has started.`
    case 'step_end':
      return `${event.step.tool} has ended: ${event.step.status}.`
    case 'text':
    case 'retrying':
    case 'user_message':
    case 'interrupt':
    case 'end':
      return undefined
  }
}

const parseError = -32700
/** JSON-RPC 2.0 Invalid Request: the body is not a JSON-RPC request. */
export const invalidRequest = -32600

/** JSON-RPC reserves -32000 for servers: a refusal without a code in the protocol. */
export const refusedCode = -32000

export const RpcError = namedObject('JsonRpcError', 'A JSON-RPC error.', {
  jsonrpc: Type.Literal('2.0'),
  id: Type.Union([Type.String(), Type.Number(), Type.Null()]),
  error: Type.Object({ code: Type.Integer(), message: Type.String(), data: Type.Optional(Type.Unknown()) }),
})

/** ContentTypeNotSupportedError of A2A 1.0, 5.4; MCP has no such code. */
const wrongType = -32005

/**
 * The errors of JSON-RPC routes, whose clients read only JSON-RPC errors. `rpcStatus`: the HTTP status for a body that is not a JSON-RPC message.
 * Other errors stay HTTP errors.
 */
export function rpcErrors(rpcStatus: 200 | 400): ErrorShape {
  return {
    bodyErrors: { 413: ErrorReply, 415: RpcError, 422: RpcError },
    refuse(reply, _error, thrown) {
      if (!(thrown instanceof ServiceError) || (thrown.code !== 'validation' && thrown.code !== 'unsupported_media_type')) return undefined
      const { code: reason, message, faults } = thrown
      const [fault] = faults
      const isWrongType = reason === 'unsupported_media_type' && rpcStatus === 200
      const code = fault?.type === 'json_invalid' ? parseError : isWrongType ? wrongType : invalidRequest
      const status = fault?.loc[0] === 'body' ? rpcStatus : statusOf(reason)
      const body: Type.Static<typeof RpcError> = { jsonrpc: '2.0', id: null, error: { code, message } }
      return reply.code(status).send(body)
    },
  }
}
