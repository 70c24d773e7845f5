import type { Logger } from 'pino'
import type { Job } from './jobs.ts'
import type { LiveRun } from './ownership/live-run.ts'

/** Logs one line per run: ids and numbers, never content. */
export function logEnd(log: Logger, now: () => number): (run: LiveRun) => void {
  return (run) => {
    const { key, sessionId, operation } = run
    const end = run.log.events.at(-1)
    const { tenant, requestId } = key
    const ms = run.elapsedMs(now())
    if (end?.type === 'interrupt') log.info({ requestId, tenant, sessionId, operation, ms, calls: end.calls.length }, 'run interrupted')
    if (end?.type !== 'end') return
    const tokens = end.usage.reduce((sum, entry) => (entry.unit === 'tokens' ? sum + entry.usage : sum), 0)
    const error = end.error?.details?.error_type
    log.info({ requestId, tenant, sessionId, operation, reason: end.reason, ms, tokens, ...(error ? { error } : {}) }, 'run')
  }
}

/** Logs an internal error; the caller does not see the error. */
export function logFault(log: Logger): (run: LiveRun, err: unknown) => void {
  return ({ key }, err) => log.error({ requestId: key.requestId, tenant: key.tenant, err }, 'internal error in a run')
}

/** Logs a failed summary; the conversation continues without a new summary. */
export function logSummary(log: Logger): (job: Job<'summary'>, err: Error) => void {
  return ({ tenant, data: { session }, attempt }, { message }) => log.warn({ tenant, session, attempt, reason: message }, 'summary failed')
}
