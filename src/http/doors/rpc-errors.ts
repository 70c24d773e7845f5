import { Type } from 'typebox'
import { statusOf, type ServiceError } from '../../errors.ts'
import { named } from '../openapi/named.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set on JSON-RPC routes, whose clients read only JSON-RPC errors: the HTTP status for a body that is not a JSON-RPC message. */
    rpcStatus?: 200 | 400
  }
}

const parseError = -32700
/** JSON-RPC 2.0 Invalid Request: the body is not a JSON-RPC request. */
export const invalidRequest = -32600

export const RpcError = named(
  'JsonRpcError',
  Type.Object(
    {
      jsonrpc: Type.Literal('2.0'),
      id: Type.Union([Type.String(), Type.Number(), Type.Null()]),
      error: Type.Object({ code: Type.Integer(), message: Type.String(), data: Type.Optional(Type.Unknown()) }),
    },
    { description: 'A JSON-RPC error.' },
  ),
)

interface RpcRefusal {
  status: number
  body: Type.Static<typeof RpcError>
}

/** ContentTypeNotSupportedError of A2A 1.0, 5.4; MCP has no such code. */
const wrongType = -32005

/** The JSON-RPC error for a request without a valid JSON-RPC message. Undefined for other errors, which stay HTTP errors. */
export function toRpcRefusal({ code, message, faults }: ServiceError, rpcStatus: number): RpcRefusal | undefined {
  if (code !== 'validation' && code !== 'unsupported_media_type') return undefined
  const [fault] = faults
  const isUnreadable = fault?.type === 'json_invalid'
  const isWrongType = code === 'unsupported_media_type' && rpcStatus === 200
  const status = fault?.loc[0] === 'body' ? rpcStatus : statusOf(code)
  return {
    status,
    body: { jsonrpc: '2.0', id: null, error: { code: isUnreadable ? parseError : isWrongType ? wrongType : invalidRequest, message } },
  }
}
