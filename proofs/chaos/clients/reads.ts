import { send, waitOf, type Caller } from './service.ts'
import type { OperationOf, SeenMessage } from '../history/operations.ts'

interface StoredMessage {
  role: string
  content: string
  response_metadata?: { request_id: string; finish_reason: string }
}

export function readSession(caller: Caller, client: string, session: string, isLast = false): Promise<OperationOf<'read session'>> {
  const request = { path: `/core/v1/sessions/${session}` }
  return send(caller, [client, 'read session', { session, isLast }], request, (body) => ({
    messages: (body.messages as StoredMessage[]).map(toSeen),
  }))
}

function toSeen({ role, content, response_metadata: metadata }: StoredMessage): SeenMessage {
  return { role, content, requestId: metadata?.request_id, finish: metadata?.finish_reason }
}

export function readRun(caller: Caller, client: string, requestId: string, isLast = false): Promise<OperationOf<'read run'>> {
  const request = { path: `/core/v1/runs/${requestId}` }
  return send(caller, [client, 'read run', { requestId, isLast }], request, ({ status, outcome, ...fields }) => {
    const waits = waitOf(fields)
    return {
      state: status,
      ...(outcome ? { output: outcome.output } : {}),
      ...(waits ? { waits } : {}),
      hasUnknownOutcome: JSON.stringify(outcome ?? null).includes('The outcome of this call is unknown'),
    }
  })
}

export function listSessions(caller: Caller, client: string) {
  const toId = ({ session_id: session }: { session_id: string }) => session
  return send(caller, [client, 'list sessions', {}], { path: '/core/v1/sessions' }, (body) => ({ sessions: body.sessions.map(toId) }))
}

export function listRuns(caller: Caller, client: string) {
  const toRun = ({ request_id: requestId, status: state }: { request_id: string; status: string }) => ({ requestId, state })
  return send(caller, [client, 'list runs', {}], { path: '/core/v1/runs' }, (body) => ({ runs: body.runs.map(toRun) }))
}
