import { openCallbackSecrets } from '../access/callback-secrets.ts'
import { createCallbackSender } from '../outbound/callback-sender.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import { createCallbacks, type CallbackDependencies } from '../runs/callbacks/callbacks.ts'
import type { Settings } from '../settings.ts'
import { createCallbackSecretFile } from '../store/callback-secret-file.ts'
import { createCallbackStore } from '../store/callbacks.ts'
import type { Database } from '../store/database.ts'

type CallbackOptions = Omit<CallbackDependencies, 'store' | 'send' | 'retryMs' | 'random'> & {
  settings: Settings
  database: Database
  outbound: GuardedFetch
}

/** A part of the wiring: what callers of async runs are told of their ends, signed and sent. */
export async function openCallbacks({ settings, database, outbound, ...rest }: CallbackOptions) {
  const { callbackSecrets: configured, secretKey, dataDir, callbackRetryMs: retryMs } = settings
  const secrets = await openCallbackSecrets({ configured, secretKey, store: createCallbackSecretFile(dataDir) })
  const send = createCallbackSender({ fetch: outbound.fetch, secretsOf: secrets.of, now: rest.now })
  return createCallbacks({ ...rest, store: createCallbackStore(database), send, retryMs, random: Math.random })
}
