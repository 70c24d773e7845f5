import type { ServiceRequest } from './request.ts'

/** What came back for a request. */
export interface Exchange {
  /** 0 without an answer. */
  status: number
  headers: Record<string, string | string[] | undefined>
  /** Start of the body. */
  text: string
  /** How the exchange ended: with the whole answer; by the client, which had read enough of a stream; by the service; or not at all in time. */
  end: 'whole' | 'left' | 'closed' | 'hung'
  ms: number
}

/** What no answer may do, whatever was sent. Returns the faults in words; empty for a right answer. */
export function judge(
  request: Pick<ServiceRequest, 'method'>,
  { status, headers, text, end }: Exchange,
  secrets: readonly string[] = [],
): string[] {
  const faults: string[] = []
  if (end === 'hung') faults.push('no answer in time')
  if (end === 'closed') faults.push('the connection was closed without a whole answer')
  if (status >= 500 && !isAllowedFailure(status, headers, text)) faults.push(`status ${status}`)
  if (headers['x-injected'] !== undefined) faults.push('a header was injected')
  if (internals.test(text)) faults.push('internals of the service are shown')
  if (secrets.some((secret) => text.includes(secret))) faults.push('a key is shown')
  if (end === 'whole' && request.method !== 'HEAD') faults.push(...faultsOfBody(status, headers, text))
  return faults
}

/** The service is busy for a stated time, or the model gave no answer that fits a schema: neither is a fault of the service. */
function isAllowedFailure(status: number, headers: Exchange['headers'], text: string): boolean {
  if (status === 503) return headers['retry-after'] !== undefined
  return status === 502 && /SchemaMismatch|schema_mismatch|does not fit its schema/.test(text)
}

/** Stack frames, and the statements of a database. */
const internals = /\n\s+at .{1,200}:\d+:\d+|SQLITE_[A-Z]+|\bnode:internal\//

function faultsOfBody(status: number, headers: Exchange['headers'], text: string): string[] {
  const type = String(headers['content-type'] ?? '')
  if (!type.includes('json')) return status >= 400 && text !== '' ? [`an error of type ${type || 'none'}`] : []
  // Only the start of a longer body was kept.
  if (text.length >= maxText) return []
  let body: unknown
  try {
    body = type.includes('ndjson')
      ? text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown)
      : JSON.parse(text)
  } catch {
    return ['the body is no JSON']
  }
  const codes = (Array.isArray(body) ? body : [body]).map((one: { jsonrpc?: string; error?: { code?: number } } | null) => one?.error?.code)
  return codes.includes(internalError) ? [`JSON-RPC error ${internalError}`] : []
}

/** Characters of a body that are kept. */
export const maxText = 256 * 1024
/** `Internal error` of JSON-RPC 2.0, section 5.1. */
const internalError = -32603
