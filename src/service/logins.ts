import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { createLoginMemory, type LoginStore } from '../configuration/mcp/login-store.ts'
import type { Settings } from '../settings/settings.ts'
import { exists } from './checks/installation.ts'
import type { Database } from '../store/database.ts'
import { createPrivateFile } from '../store/disk/private-file.ts'
import { createLoginStore } from '../store/secrets/secrets.ts'
import { openDatabase } from '../store/open.ts'
import { createSecretBox, type SecretBox } from '../store/secrets/secret-box.ts'

type LoginSettings = Pick<Settings, 'databaseUrl' | 'dataDir' | 'secretKeys'>

/** The logins at MCP servers, encrypted with SECRET_KEY; without SECRET_KEY, with a secret in the data directory. */
export function openLogins(database: Database, settings: LoginSettings): LoginStore {
  let box: Promise<SecretBox> | undefined
  return createLoginStore(database, { box: () => (box ??= openBox(settings)), now: Date.now })
}

/** The logins of a service for a command that must not create a database; none where there is no database yet. */
export async function openStoredLogins(settings: Settings): Promise<{ store: LoginStore; close(): Promise<void> }> {
  if (!(await hasDatabase(settings))) return { store: createLoginMemory(), close: async () => undefined }
  const database = await openDatabase(settings)
  return { store: openLogins(database, settings), close: () => database.close() }
}

async function hasDatabase({ databaseUrl, dataDir }: LoginSettings): Promise<boolean> {
  try {
    if (databaseUrl === undefined) return await exists(path.join(dataDir, 'agent-core.db'))
    const { isPrepared } = await import('../store/postgres/inspect.ts')
    return await isPrepared(databaseUrl)
  } catch {
    // The check of the store reports the database.
    return false
  }
}

async function openBox({ databaseUrl, dataDir, secretKeys }: LoginSettings): Promise<SecretBox> {
  if (databaseUrl !== undefined) return createSecretBox(secretKeys)
  const file = createPrivateFile(path.join(dataDir, 'login-secret'))
  // A login that was stored before SECRET_KEY was set is still readable.
  const stored = secretKeys.length > 0 ? await file.load() : await file.change((text) => text ?? randomBytes(32).toString('base64url'))
  return createSecretBox([...secretKeys, ...(stored === undefined ? [] : [stored])])
}
