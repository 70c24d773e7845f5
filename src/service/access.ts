import path from 'node:path'
import type { Logger } from 'pino'
import { ensureAdminKey } from '../access/keys/admin-key.ts'
import { openLiveSigningKeys } from '../access/keys/live-signing-keys.ts'
import type { CustomRoles } from '../access/permissions.ts'
import { createRevocations } from '../access/revocation.ts'
import { createVerifier } from '../access/verify.ts'
import type { Bus } from '../replicas/bus.ts'
import type { Settings } from '../settings/settings.ts'
import { createAccessKeyStore } from '../store/secrets/access-keys.ts'
import type { Database } from '../store/database.ts'
import { createPrivateFile } from '../store/disk/private-file.ts'
import type { OpenSecrets } from './secrets.ts'

interface AccessOptions {
  database: Database
  settings: Settings
  secrets: OpenSecrets
  bus: Bus
  customRoles: () => CustomRoles
  now: () => number
  log: Logger
}

/**
 * Interval of checks of the administrator's key: renewed 10 days before expiry, and at once after the end of the
 * signing key.
 */
const adminKeyEveryMs = 3_600_000

/** Opens access control: the signing keys, revocations, and the administrator's key in its file. */
export async function openAccess(stack: AsyncDisposableStack, options: AccessOptions) {
  const { database, settings, secrets, bus, customRoles, now, log } = options
  const { adminTenant: tenant, accessProvider: provider, dataDir } = settings
  const store = createAccessKeyStore(database)
  const onError = (subject: string) => (err: unknown) => log.warn({ err }, subject)
  const signing = await openLiveSigningKeys(secrets.signingKeys, { now, bus, onError: onError('signing keys') })
  stack.adopt(signing, (keys) => keys.close())
  const revocations = await createRevocations(store, { now, bus, onError: onError('revocations') })
  stack.adopt(revocations, (opened) => opened.close())
  const { isRevoked } = revocations
  const verifier = createVerifier({ signing, provider, adminTenant: tenant, customRoles, isRevoked, now })

  const file = createPrivateFile(path.resolve(dataDir, 'admin.key'))
  const ensure = () => ensureAdminKey({ file, shared: secrets.adminKey, tenant, signing, verifier, store, now })
  await ensure()
  const ensureInBackground = () => void ensure().catch(onError('admin.key'))
  stack.adopt(setInterval(ensureInBackground, adminKeyEveryMs).unref(), clearInterval)
  signing.onChange(ensureInBackground)
  return { signing, verifier, adminKeyFile: file.label }
}
