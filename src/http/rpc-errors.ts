import { Type } from 'typebox'
import { statusOf, type ServiceError } from '../errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Present on routes of JSON-RPC, whose clients read errors of that protocol alone: the HTTP status of a body that is no message. */
    rpcStatus?: 200 | 400
  }
}

const parseError = -32700
/** Invalid Request of JSON-RPC 2.0: the body is no request of that protocol. */
export const invalidRequest = -32600

export const RpcError = Type.Object(
  {
    jsonrpc: Type.Literal('2.0'),
    id: Type.Union([Type.String(), Type.Number(), Type.Null()]),
    error: Type.Object({ code: Type.Integer(), message: Type.String(), data: Type.Optional(Type.Unknown()) }),
  },
  { description: 'An error of JSON-RPC.' },
)

interface RpcRefusal {
  status: number
  body: Type.Static<typeof RpcError>
}

/** A request that holds no message of JSON-RPC, as an error of JSON-RPC. Undefined for other errors: HTTP says them to every client. */
export function toRpcRefusal({ code, message, faults }: ServiceError, rpcStatus: number): RpcRefusal | undefined {
  if (code !== 'validation' && code !== 'unsupported_media_type') return undefined
  const [fault] = faults
  const isUnreadable = fault?.type === 'json_invalid'
  const status = fault?.loc[0] === 'body' ? rpcStatus : statusOf(code)
  return { status, body: { jsonrpc: '2.0', id: null, error: { code: isUnreadable ? parseError : invalidRequest, message } } }
}
