import type { Logger } from 'pino'
import { openCallbackSecrets, operatorTenant, type CallbackSecretOptions } from '../access/keys/shared-secret.ts'
import { createCallbackSender } from '../outbound/callback-sender.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import type { ApprovalStore } from '../runs/approvals/approval-store.ts'
import { createCallbackList } from '../runs/callbacks/callback-list.ts'
import { createReceivers } from '../runs/callbacks/attempt.ts'
import { createHeadSender } from '../runs/callbacks/audit-heads.ts'
import { createWarnings } from '../runs/callbacks/budget-warnings.ts'
import { createCallbacks, type CallbackDependencies } from '../runs/callbacks/callbacks.ts'
import { createNotifications } from '../runs/callbacks/notifications.ts'
import type { Settings } from '../settings/settings.ts'
import type { Jobs } from '../runs/jobs.ts'
import { createObservability } from '../runs/reports/observability.ts'
import { createRunList, createSessionRuns } from '../runs/run-list.ts'
import type { Runs } from '../runs/runs.ts'
import { createObservedRuns, createRunTraces } from '../runs/trace/run-traces.ts'
import { createRunReports } from '../store/reports/run-reports.ts'
import { createSeriesStore } from '../store/reports/series.ts'
import { createEchoStore } from '../store/runs/logs.ts'
import { createRecentRunStore } from '../store/reports/recent-runs.ts'
import { createRunListStore } from '../store/reports/run-list.ts'
import { createCallbackListStore, createCallbackStore } from '../store/runs/callbacks.ts'
import { createNotificationStore } from '../store/runs/notifications.ts'
import type { SecretBox } from '../store/secrets/secret-box.ts'
import type { Database } from '../store/database.ts'

type CallbackOptions = Omit<CallbackDependencies, 'store' | 'send' | 'retryMs' | 'random' | 'receivers'> & {
  box: SecretBox | undefined
  openCalls: Pick<ApprovalStore, 'ofRun'>
  jobs: Jobs
  log: Logger
  settings: Settings
  database: Database
  outbound: GuardedFetch
  secrets: CallbackSecretOptions
}

/**
 * Wires the signed messages to other services: callbacks at the end of async runs, with their list, push notifications of A2A tasks, warnings of
 * budgets, and heads of the audit ledger. The first two share the limits of each receiving host. `deliver` starts to send: the messages contain the service's own URL, which is known once the service
 * listens.
 */
export async function openCallbacks({ settings, database, outbound, secrets, box, log, ...rest }: CallbackOptions) {
  const { jobs, now } = rest
  const { forTenant: secretsOf } = await openCallbackSecrets(secrets)
  const send = createCallbackSender({ fetch: outbound.fetch, secretsOf, now })
  const { callbackRetryMs: retryMs } = settings
  const shared = { ...rest, send, retryMs, random: Math.random, receivers: createReceivers(now) }
  const callbacks = createCallbacks({ ...shared, store: createCallbackStore(database) })
  const notifications = createNotificationStore(database, { box, wake: () => jobs.wake('notification') })
  const sender = createNotifications({
    ...shared,
    store: notifications,
    // The A2A library is loaded with the first notification.
    toBody: async (run, config) => (await import('../http/doors/a2a/push-configs.ts')).toNotificationBody(run, { ...rest, ...config }),
    onFailed: ({ requestId }, reason) => log.warn({ requestId, reason }, 'A push notification was not delivered'),
  })
  const warn = createWarnings({
    ...shared,
    url: settings.budgetCallbackUrl,
    signer: operatorTenant,
    onFailed: (budget, reason) => log.warn({ budget, reason }, 'The warning of a budget was not delivered'),
  })
  const sendHead = createHeadSender({
    ...shared,
    url: settings.auditCallbackUrl,
    signer: operatorTenant,
    onFailed: (tenant, seq, reason) => log.warn({ tenant, seq, reason }, 'A head of the audit ledger was not delivered'),
  })
  const deliver = () => {
    jobs.handle('budget_warning', warningConcurrency, warn)
    jobs.handle('audit_head', warningConcurrency, sendHead)
    jobs.handle('callback', callbackConcurrency, callbacks.deliver)
    jobs.handle('notification', callbackConcurrency, sender.deliver)
    jobs.handle('interrupt_callback', callbackConcurrency, callbacks.deliverInterruption)
  }
  const listCallbacks = createCallbackList({ ...rest, store: createCallbackListStore(database) })
  return { deliver, services: { callbacks, listCallbacks, notifications } }
}

/** Number of concurrent callbacks; a slow receiver occupies a slot. */
const callbackConcurrency = 128

/** All warnings have the same receiver, and so have all heads. */
const warningConcurrency = 4

interface RecordOptions extends Pick<Parameters<typeof createRunTraces>[0], 'store' | 'historyTokens'> {
  database: Database
  openCalls: ApprovalStore
  runs: Pick<Runs, 'observe' | 'progressOf'>
  now(): number
}

/** Wires what is read about runs: their lists, traces, metrics and logs. */
export function openRecords({ database, store, openCalls, runs, historyTokens, now }: RecordOptions) {
  const lists = createRunListStore(database)
  const observed = createObservedRuns(runs.observe)
  return {
    listRuns: createRunList(lists),
    sessionRuns: createSessionRuns(lists),
    recentRuns: createRecentRunStore(database),
    echoes: createEchoStore(database),
    traces: createRunTraces({ store, approvals: openCalls, observed, progressOf: runs.progressOf, historyTokens }),
    observability: createObservability({ reports: createRunReports(database), series: createSeriesStore(database), now }),
  }
}
