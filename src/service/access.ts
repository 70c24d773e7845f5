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

/** The administrator's key is looked at so often: it is renewed 10 days before it ends, and at once when its signing key has ended. */
const adminKeyEveryMs = 3_600_000

/** Who may come in: the signing keys, revocations, and the administrator's key in its file. */
export async function openAccess(stack: AsyncDisposableStack, options: AccessOptions) {
  const { database, settings, secrets, bus, customRoles, now, log } = options
  const { adminTenant: tenant, accessProvider: provider, dataDir } = settings
  const store = createAccessKeyStore(database)
  const onError = (what: string) => (err: unknown) => log.warn({ err }, what)
  const signing = await openLiveSigningKeys(secrets.signingKeys, { now, bus, onError: onError('signing keys') })
  stack.adopt(signing, (one) => one.close())
  const revocations = await createRevocations(store, { now, bus, onError: onError('revocations') })
  stack.adopt(revocations, (one) => one.close())
  const { isRevoked } = revocations
  const verifier = createVerifier({ signing, provider, adminTenant: tenant, customRoles, isRevoked, now })

  const file = createPrivateFile(path.resolve(dataDir, 'admin.key'))
  const ensure = () => ensureAdminKey({ file, shared: secrets.adminKey, tenant, signing, verifier, store, now })
  await ensure()
  const again = () => void ensure().catch(onError('admin.key'))
  stack.adopt(setInterval(again, adminKeyEveryMs).unref(), clearInterval)
  signing.onChange(again)
  return { signing, verifier, adminKeyFile: file.label }
}
