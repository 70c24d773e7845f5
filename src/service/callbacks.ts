import type { Logger } from 'pino'
import { openCallbackSecrets, type CallbackSecretOptions } from '../access/keys/shared-secret.ts'
import { createCallbackSender } from '../outbound/callback-sender.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import type { ApprovalStore } from '../runs/approvals/approval-store.ts'
import { createCallbackList } from '../runs/callbacks/callback-list.ts'
import { createReceivers } from '../runs/callbacks/attempt.ts'
import { createCallbacks, type CallbackDependencies } from '../runs/callbacks/callbacks.ts'
import { createNotifications } from '../runs/callbacks/notifications.ts'
import type { Settings } from '../settings/settings.ts'
import { createCallbackListStore, createCallbackStore } from '../store/runs/callbacks.ts'
import { createNotificationStore } from '../store/runs/notifications.ts'
import type { SecretBox } from '../store/secrets/secret-box.ts'
import type { Database } from '../store/database.ts'

type CallbackOptions = Omit<CallbackDependencies, 'store' | 'send' | 'retryMs' | 'random' | 'receivers'> & {
  box: SecretBox | undefined
  openCalls: Pick<ApprovalStore, 'ofRun'>
  log: Logger
  settings: Settings
  database: Database
  outbound: GuardedFetch
  secrets: CallbackSecretOptions
}

/**
 * Wires the signed messages to other services: callbacks at the end of async runs, with their list, and push notifications of A2A tasks. Both
 * share the limits of each receiving host.
 */
export async function openCallbacks({ settings, database, outbound, secrets, box, log, ...rest }: CallbackOptions) {
  const { forTenant: secretsOf } = await openCallbackSecrets(secrets)
  const send = createCallbackSender({ fetch: outbound.fetch, secretsOf, now: rest.now })
  const { callbackRetryMs: retryMs } = settings
  const shared = { ...rest, send, retryMs, random: Math.random, receivers: createReceivers(rest.now) }
  const callbacks = createCallbacks({ ...shared, store: createCallbackStore(database) })
  const notificationStore = createNotificationStore(database, { box, wake: () => rest.jobs.wake('notification') })
  const notifications = createNotifications({
    ...shared,
    store: notificationStore,
    // The A2A library is loaded with the first notification.
    toBody: async (run, config) => (await import('../http/doors/a2a/push-configs.ts')).toNotificationBody(run, { ...rest, ...config }),
    onFailed: ({ requestId }, reason) => log.warn({ requestId, reason }, 'A push notification was not delivered'),
  })
  return {
    callbacks,
    listCallbacks: createCallbackList({ ...rest, store: createCallbackListStore(database) }),
    notifications,
    notificationStore,
  }
}
