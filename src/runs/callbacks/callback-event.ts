import { resultOf } from '../run-result.ts'
import type { StoredRun } from '../run-store.ts'

const completed = 'ai.service.agent.chain.completed'
const failed = 'ai.service.agent.chain.failed'

/** A CloudEvents 1.0 event in structured mode, as JSON. Deterministic: repeated calls for a run return equal text. */
export function toCallbackBody(run: StoredRun, eventId: string, source: string): string {
  const { outcome, error } = resultOf(run)
  return JSON.stringify({
    specversion: '1.0',
    type: error ? failed : completed,
    source,
    id: run.requestId,
    subject: run.sessionId,
    time: new Date(run.endedAt ?? run.createdAt).toISOString(),
    data: {
      event_id: eventId,
      request_id: run.requestId,
      session_id: run.sessionId,
      ...(error ? { error } : { body: outcome?.answer }),
    },
  })
}
