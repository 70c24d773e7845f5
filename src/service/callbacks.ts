import { openCallbackSecrets, type CallbackSecretOptions } from '../access/keys/callback-secrets.ts'
import { createCallbackSender } from '../outbound/callback-sender.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import { createCallbacks, type CallbackDependencies } from '../runs/callbacks/callbacks.ts'
import type { Settings } from '../settings/settings.ts'
import { createCallbackStore } from '../store/runs/callbacks.ts'
import type { Database } from '../store/database.ts'

type CallbackOptions = Omit<CallbackDependencies, 'store' | 'send' | 'retryMs' | 'random'> & {
  settings: Settings
  database: Database
  outbound: GuardedFetch
  secrets: CallbackSecretOptions
}

/** Wires callbacks: signed messages to the callers of async runs at the end of a run. */
export async function openCallbacks({ settings, database, outbound, secrets, ...rest }: CallbackOptions) {
  const { forTenant: secretsOf } = await openCallbackSecrets(secrets)
  const send = createCallbackSender({ fetch: outbound.fetch, secretsOf, now: rest.now })
  return createCallbacks({ ...rest, store: createCallbackStore(database), send, retryMs: settings.callbackRetryMs, random: Math.random })
}
