import type { SignedHead } from '../../audit/heads.ts'
import type { Job, JobOutcome, NewJob } from '../jobs.ts'
import { attemptToSend, verdictAfter, type AttemptDependencies } from './attempt.ts'

export const headType = 'ai.service.agent.audit.head'

export interface HeadDependencies extends AttemptDependencies {
  /** `AUDIT_CALLBACK_URL`; undefined where heads stay in the database. */
  url: string | undefined
  /** The tenant whose secret signs the messages. */
  signer: string
  /** The service's public address. */
  source(): string
  /** Reports a head without a receiver. */
  onFailed(tenant: string, seq: number, reason: string): void
}

/** The job of a head: the head itself, because another program could remove the stored one. */
export function headJob({ tenant, seq, hash, at, jws }: SignedHead): NewJob<'audit_head'> {
  return { id: headId(tenant, seq), kind: 'audit_head', tenant, data: { seq, hash, at, jws }, dueAt: Date.parse(at) }
}

function headId(tenant: string, seq: number): string {
  return `audit:${tenant}:${seq}`
}

/** Makes one attempt to send a signed head to the operator. */
export function createHeadSender(deps: HeadDependencies) {
  return async ({ tenant, data, attempt: tries }: Job<'audit_head'>, signal: AbortSignal): Promise<JobOutcome> => {
    const { url, signer, source, onFailed } = deps
    if (url === undefined) return { kind: 'done' }
    const id = headId(tenant, data.seq)
    const attempt = await attemptToSend(deps, { tenant: signer, url, id, body: toHeadBody(tenant, data, source()) }, signal)
    const { status, nextAt } = verdictAfter(deps, attempt, tries - 1)
    if (status === 'failed') onFailed(tenant, data.seq, attempt.error ?? `The receiver answered ${attempt.status}.`)
    return nextAt === undefined ? { kind: 'done' } : { kind: 'again', at: nextAt }
  }
}

/** A CloudEvents 1.0 event in structured mode, the same in each attempt. Its data is a line of an export, which `audit verify` takes. */
function toHeadBody(tenant: string, { seq, hash, at, jws }: Job<'audit_head'>['data'], source: string): string {
  return JSON.stringify({
    specversion: '1.0',
    type: headType,
    source,
    id: headId(tenant, seq),
    subject: tenant,
    time: at,
    data: { type: 'head', tenant, seq, hash, at, jws },
  })
}
