import { hash } from 'node:crypto'
import { issuerOf, subOf } from '../../access/owner.ts'
import type { Warning } from '../../budgets/budget.ts'
import { toAmountView, toLimitView } from '../../budgets/refusal.ts'
import type { Job, JobOutcome, NewJob } from '../jobs.ts'
import { attemptToSend, verdictAfter, type AttemptDependencies } from './attempt.ts'

export const warningType = 'ai.service.agent.budget.warning'

export interface WarningDependencies extends AttemptDependencies {
  /** `BUDGET_CALLBACK_URL`; undefined where warnings are only logged. */
  url: string | undefined
  /** The tenant whose secret signs the warnings. */
  signer: string
  /** The service's public address. */
  source(): string
  /** Reports a warning without a receiver. */
  onFailed(budget: string, reason: string): void
}

/** The job of a warning, with the id of the warning: a window has one. */
export function warningJob(tenant: string, { account, state, at }: Warning): NewJob<'budget_warning'> {
  const { budget, scope, window, subject, windowStart, resetsAt } = account
  const { limit, spent, reserved } = state
  const data = { budget, scope, window, subject, windowStart, resetsAt, limit, spent, reserved, at }
  return { id: warningId(tenant, data), kind: 'budget_warning', tenant, data, dueAt: at }
}

type WarningData = Job<'budget_warning'>['data']

/** The subject is hashed. */
function warningId(tenant: string, { budget, subject, windowStart }: Pick<WarningData, 'budget' | 'subject' | 'windowStart'>): string {
  return `${budget}:${hash('sha256', JSON.stringify([tenant, subject])).slice(0, 32)}:${windowStart}`
}

/** Makes one attempt to send a warning to the operator. */
export function createWarnings(deps: WarningDependencies) {
  return async ({ tenant, data, attempt: tries }: Job<'budget_warning'>, signal: AbortSignal): Promise<JobOutcome> => {
    const { url, signer, source, onFailed } = deps
    if (url === undefined) return { kind: 'done' }
    const callback = { tenant: signer, url, id: warningId(tenant, data), body: toWarningBody(tenant, data, source()) }
    const attempt = await attemptToSend(deps, callback, signal)
    const { status, nextAt } = verdictAfter(deps, attempt, tries - 1)
    if (status === 'failed') onFailed(data.budget, attempt.error ?? `The receiver answered ${attempt.status}.`)
    return nextAt === undefined ? { kind: 'done' } : { kind: 'again', at: nextAt }
  }
}

/** A CloudEvents 1.0 event in structured mode, the same in each attempt. */
function toWarningBody(tenant: string, data: WarningData, source: string): string {
  const { budget, scope, window, resetsAt, limit, spent, reserved, at } = data
  return JSON.stringify({
    specversion: '1.0',
    type: warningType,
    source,
    id: warningId(tenant, data),
    subject: budget,
    time: new Date(at).toISOString(),
    data: {
      budget,
      scope,
      subject: toSubject(tenant, data),
      window,
      limit: toLimitView(limit),
      spent: toAmountView(spent, limit),
      reserved: toAmountView(reserved, limit),
      resets_at: resetsAt === undefined ? undefined : new Date(resetsAt).toISOString(),
    },
  })
}

/** The subject in names of the operator. The key of a session is a name of the store alone. */
function toSubject(tenant: string, { scope, subject }: WarningData): object {
  if (scope === 'service') return {}
  if (scope === 'tenant' || scope === 'session') return { tenant }
  const [requestId, owner] = scope === 'run' ? splitAt(subject, subject.indexOf(' ')) : [undefined, subject]
  return { tenant, issuer: issuerOf({ owner }), sub: subOf({ owner }), request_id: requestId }
}

function splitAt(text: string, index: number): [string, string] {
  return [text.slice(0, index), text.slice(index + 1)]
}
