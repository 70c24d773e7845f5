import type { Transport } from '../transport.ts'

/** Requests the events of a run after a number. `owner` names the owner of another caller's run. */
export function resumeRun(
  transport: Transport,
  { requestId, after, owner, signal }: { requestId: string; after: string; owner?: object; signal: AbortSignal },
): Promise<Response> {
  const headers = { 'last-event-id': after === '0' ? undefined : `${requestId}:${after}` }
  return transport.send('GET', '/core/v1/runs/{request_id}/stream', { path: { request_id: requestId }, query: owner, headers, signal })
}
