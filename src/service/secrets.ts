import path from 'node:path'
import { deriveCallbackSecret, type CallbackSecretOptions } from '../access/keys/callback-secrets.ts'
import type { SharedSecret } from '../access/keys/shared-secret.ts'
import { toSigningKeys } from '../access/keys/signing-keys.ts'
import type { Settings } from '../settings/settings.ts'
import { createAccessKeyStore } from '../store/secrets/access-keys.ts'
import type { Database } from '../store/database.ts'
import { createPrivateFile } from '../store/disk/private-file.ts'
import { createSecretBox, type SecretBox } from '../store/secrets/secret-box.ts'
import { createSecrets } from '../store/secrets/secrets.ts'
import { reencryptAll } from '../store/secrets/encrypted.ts'

/** What the service keeps secret: in a database that processes share, wrapped by SECRET_KEY; else in the data directory. */
export interface OpenSecrets {
  signingKeys: SharedSecret
  callbacks: CallbackSecretOptions
  /** The administrator's key that all processes have; absent where there is but one process. */
  adminKey?: SharedSecret
  /** For what else is wrapped by SECRET_KEY; absent where nothing is shared. */
  box?: SecretBox
  /** For the operator, a sentence each: what was taken over, or is not used. */
  notices: readonly string[]
}

type SecretSettings = Pick<Settings, 'databaseUrl' | 'dataDir' | 'secretKeys' | 'callbackSecrets' | 'adminTenant'>

/** Throws `WrongSecretKey` where the database has secrets that SECRET_KEY does not open: nothing is made in their place. */
export async function openSecrets(database: Database, settings: SecretSettings, now: () => number): Promise<OpenSecrets> {
  const { dataDir, databaseUrl, secretKeys, callbackSecrets, adminTenant } = settings
  const files = {
    signingKeys: createPrivateFile(path.join(dataDir, 'signing-key.json')),
    callbackSecret: createPrivateFile(path.join(dataDir, 'callback-secret')),
  }
  if (databaseUrl === undefined) {
    const configured = callbackSecrets.length > 0 ? callbackSecrets : secretKeys.map(deriveCallbackSecret)
    return { signingKeys: files.signingKeys, callbacks: { configured, stored: files.callbackSecret }, notices: [] }
  }
  const box = createSecretBox(secretKeys)
  const secrets = createSecrets(database, box, { now })
  const kept = { signingKeys: secrets.secret('signing keys'), callbackSecret: secrets.secret('callback secret') }
  const notices = await takeOver(files, kept, { wasUsed: () => hasKeys(database), oldestSecretKey: secretKeys.at(-1)! })
  notices.push(...(await findUnused(files.signingKeys, kept.signingKeys, now)))
  const adminKey = secrets.secret(`administrator's key of ${adminTenant}`)
  return { signingKeys: kept.signingKeys, callbacks: { configured: callbackSecrets, stored: kept.callbackSecret }, adminKey, box, notices }
}

/**
 * At a start: while SECRET_KEY is being changed, what the old one wrapped is wrapped anew by the new one. A command line does not, which may
 * have them in another order than the service. Answers as `told` does.
 */
export async function renewSecrets(database: Database, { databaseUrl, secretKeys }: SecretSettings): Promise<string[]> {
  const renewed = databaseUrl === undefined ? 0 : await reencryptAll(database, createSecretBox(secretKeys))
  return renewed > 0 ? [`${renewed} secrets of the database are wrapped by the first of SECRET_KEY now.`] : []
}

/** A service that was started registered its administrator's key. */
async function hasKeys(database: Database): Promise<boolean> {
  return (await createAccessKeyStore(database).list()).length > 0
}

type Files = Record<'signingKeys' | 'callbackSecret', SharedSecret>

interface Past {
  /** By a version that kept no secrets in the database: it derived the secret of callbacks from SECRET_KEY. */
  wasUsed(): Promise<boolean>
  oldestSecretKey: string
}

/** What is in use goes on: the database starts with what it was used with, or with what one process had for itself. */
async function takeOver(files: Files, kept: Files, { wasUsed, oldestSecretKey }: Past): Promise<string[]> {
  const told: string[] = []
  // First, because what is registered later would look as if the database had been in use before.
  if ((await kept.callbackSecret.load()) === undefined) {
    const derived = (await wasUsed()) ? deriveCallbackSecret(oldestSecretKey) : undefined
    const own = derived ?? (await files.callbackSecret.load())
    if (own !== undefined) await kept.callbackSecret.change((text) => text ?? own)
    if (own !== undefined && derived === undefined) told.push(takenOver(files.callbackSecret))
  }
  const own = (await kept.signingKeys.load()) === undefined ? await files.signingKeys.load() : undefined
  if (own === undefined) return told
  await toSigningKeys(own, files.signingKeys.label, Date.now)
  if ((await kept.signingKeys.change((text) => text ?? own)) === own) told.push(takenOver(files.signingKeys))
  return told
}

function takenOver({ label }: SharedSecret): string {
  return `${label} was taken over into the database, which counts from now on; the file is not read again.`
}

/** A second process that was used alone until now has keys that the first one's do not verify. */
async function findUnused(file: SharedSecret, kept: SharedSecret, now: () => number): Promise<string[]> {
  const [own, text] = await Promise.all([file.load(), kept.load()])
  if (own === undefined || text === undefined) return []
  const [unused, keys] = await Promise.all([toSigningKeys(own, file.label, now), toSigningKeys(text, kept.label, now)])
  if (keys.find(unused.newest().kid)) return []
  return [`${file.label} is not used: the database has other signing keys, and what this one has signed does not count.`]
}
