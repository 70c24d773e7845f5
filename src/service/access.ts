import type { Logger } from 'pino'
import { ensureAdminKey } from '../access/admin-key.ts'
import { openSigningKey } from '../access/keys.ts'
import type { CustomRoles } from '../access/permissions.ts'
import { createRevocations } from '../access/revocation.ts'
import { createVerifier } from '../access/verify.ts'
import type { Settings } from '../settings.ts'
import { createAccessKeyStore } from '../store/access-keys.ts'
import type { Database } from '../store/database.ts'
import { createSigningKeyFile } from '../store/signing-key-file.ts'

interface AccessOptions {
  customRoles: () => CustomRoles
  now: () => number
  log: Logger
}

/** Who may come in: the signing key, revocations, and the administrator's key in its file. */
export async function openAccess(
  stack: AsyncDisposableStack,
  database: Database,
  settings: Settings,
  { customRoles, now, log }: AccessOptions,
) {
  const { adminTenant, accessProvider: provider, dataDir } = settings
  const store = createAccessKeyStore(database)
  const signing = await openSigningKey(createSigningKeyFile(dataDir))
  const revocations = await createRevocations(store, { now, onError: (err) => log.warn({ err }, 'revocations') })
  stack.adopt(revocations, (one) => one.close())
  const { isRevoked } = revocations
  const verifier = createVerifier({ signing, provider, adminTenant, customRoles, isRevoked, now })
  const { file } = await ensureAdminKey({ folder: dataDir, tenant: adminTenant, signing, verifier, store, now })
  return { signing, verifier, adminKeyFile: file }
}
