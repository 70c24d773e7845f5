import path from 'node:path'
import { createConsoleSessions } from '../access/console/console-sessions.ts'
import { openSigningKeys } from '../access/keys/signing-keys.ts'
import { createLivePrincipals } from '../access/identity.ts'
import { createVerifier } from '../access/verify.ts'
import { ServiceError } from '../errors.ts'
import { localBus } from '../replicas/bus.ts'
import type { Settings } from '../settings/settings.ts'
import { createPrivateFile } from '../store/disk/private-file.ts'
import { openDatabase } from '../store/open.ts'
import { createConsoleStore } from '../store/secrets/console.ts'
import { openSecrets } from './secrets.ts'

/** Stores a one-time code of the console for the administrator's key. Undefined when there is no valid key. */
export async function createAdminCode(settings: Settings): Promise<string | undefined> {
  await using stack = new AsyncDisposableStack()
  const now = Date.now
  const database = stack.adopt(await openDatabase(settings), (opened) => opened.close())
  const secrets = await openSecrets(database, settings, now)
  const key = (await (secrets.adminKey ?? createPrivateFile(path.join(settings.dataDir, 'admin.key'))).load())?.trim()
  if (key === undefined) return undefined
  const signing = await openSigningKeys(secrets.signingKeys, now)
  // A revoked key is refused when the code is used.
  const keys = { signing, adminTenant: settings.adminTenant, customRoles: () => noRoles, isRevoked: () => false }
  try {
    const caller = await createVerifier({ ...keys, now }).verify(key)
    const sessions = createConsoleSessions({
      store: createConsoleStore(database),
      bus: localBus,
      toLivePrincipal: createLivePrincipals(keys),
      now,
    })
    return (await sessions.createCode(caller, key)).code
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unauthorized') return undefined
    throw error
  }
}

const noRoles = {}
