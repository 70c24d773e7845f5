import { openCallbackSecrets, type CallbackSecretOptions } from '../access/keys/callback-secrets.ts'
import { createCallbackSender } from '../outbound/callback-sender.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import { createCallbackList } from '../runs/callbacks/callback-list.ts'
import { createCallbacks, type CallbackDependencies } from '../runs/callbacks/callbacks.ts'
import type { Settings } from '../settings/settings.ts'
import { createCallbackListStore } from '../store/runs/callback-list.ts'
import { createCallbackStore } from '../store/runs/callbacks.ts'
import type { Database } from '../store/database.ts'

type CallbackOptions = Omit<CallbackDependencies, 'store' | 'send' | 'retryMs' | 'random'> & {
  settings: Settings
  database: Database
  outbound: GuardedFetch
  secrets: CallbackSecretOptions
}

/** Wires callbacks, which are signed messages to the callers of async runs at the end of a run, and their list. */
export async function openCallbacks({ settings, database, outbound, secrets, ...rest }: CallbackOptions) {
  const { forTenant: secretsOf } = await openCallbackSecrets(secrets)
  const send = createCallbackSender({ fetch: outbound.fetch, secretsOf, now: rest.now })
  const { callbackRetryMs: retryMs } = settings
  const callbacks = createCallbacks({ ...rest, store: createCallbackStore(database), send, retryMs, random: Math.random })
  return { callbacks, listCallbacks: createCallbackList({ store: createCallbackListStore(database), source: rest.source }) }
}
