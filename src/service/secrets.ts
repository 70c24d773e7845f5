import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { deriveCallbackSecret, type CallbackSecretOptions, type SharedSecret } from '../access/keys/shared-secret.ts'
import { toSigningKeys } from '../access/keys/signing-keys.ts'
import type { Settings } from '../settings/settings.ts'
import { createAccessKeyStore } from '../store/secrets/access-keys.ts'
import type { Database } from '../store/database.ts'
import { createPrivateFile } from '../store/disk/private-file.ts'
import { createSecretBox, type SecretBox } from '../store/secrets/secret-box.ts'
import { createSecrets, reencryptAll } from '../store/secrets/secrets.ts'

/** The secrets of the service: in a shared database, encrypted with SECRET_KEY; otherwise in the data directory. */
export interface OpenSecrets {
  signingKeys: SharedSecret
  callbacks: CallbackSecretOptions
  /** The administrator's key shared by all processes; absent for a single process. */
  adminKey?: SharedSecret
  /** Encrypts other data with SECRET_KEY; absent without a shared database. */
  box?: SecretBox
  /** Encrypts what callers keep, with SECRET_KEY, or without one with a key in the data directory, which is made with the first use. */
  contentBox(): Promise<SecretBox>
  /** Notices for the operator, each a sentence: imported or unused secrets. */
  notices: readonly string[]
}

type SecretSettings = Pick<Settings, 'databaseUrl' | 'dataDir' | 'secretKeys' | 'callbackSecrets' | 'adminTenant'>

/**
 * Throws `WrongSecretKey` when SECRET_KEY does not decrypt the database's secrets; no new secrets are made in that
 * case.
 */
export async function openSecrets(database: Database, settings: SecretSettings, now: () => number): Promise<OpenSecrets> {
  const { dataDir, databaseUrl, secretKeys, callbackSecrets, adminTenant } = settings
  const files = {
    signingKeys: createPrivateFile(path.join(dataDir, 'signing-key.json')),
    callbackSecret: createPrivateFile(path.join(dataDir, 'callback-secret')),
  }
  const contentBox = openContentBox(path.join(dataDir, 'content-key'), secretKeys)
  if (databaseUrl === undefined) {
    const configured = callbackSecrets.length > 0 ? callbackSecrets : secretKeys.map(deriveCallbackSecret)
    return { signingKeys: files.signingKeys, callbacks: { configured, stored: files.callbackSecret }, contentBox, notices: [] }
  }
  const box = createSecretBox(secretKeys)
  const secrets = createSecrets(database, box, { now })
  const stored = { signingKeys: secrets.secret('signing keys'), callbackSecret: secrets.secret('callback secret') }
  const notices = await importSecrets(files, stored, { wasUsed: () => hasKeys(database), oldestSecretKey: secretKeys.at(-1)! })
  notices.push(...(await findUnused(files.signingKeys, stored.signingKeys, now)))
  const adminKey = secrets.secret(`administrator's key of ${adminTenant}`)
  return {
    signingKeys: stored.signingKeys,
    callbacks: { configured: callbackSecrets, stored: stored.callbackSecret },
    adminKey,
    box,
    contentBox,
    notices,
  }
}

function openContentBox(file: string, secretKeys: readonly string[]): () => Promise<SecretBox> {
  const make = async () => {
    const made =
      secretKeys.length > 0 ? undefined : await createPrivateFile(file).change((text) => text ?? randomBytes(32).toString('base64'))
    return createSecretBox(made === undefined ? secretKeys : [made])
  }
  let box: Promise<SecretBox> | undefined
  return () => (box ??= make())
}

/**
 * Re-encrypts secrets with the newest SECRET_KEY at a start of the service. A command line does not, because its keys
 * may be in another order. Returns notices for the operator.
 */
export async function renewSecrets(database: Database, { databaseUrl, secretKeys }: SecretSettings): Promise<string[]> {
  const renewed = databaseUrl === undefined ? 0 : await reencryptAll(database, createSecretBox(secretKeys))
  return renewed > 0 ? [`${renewed} secrets of the database are now encrypted with the first key of SECRET_KEY.`] : []
}

/** True when the database was used before: every started service has registered its administrator's key. */
async function hasKeys(database: Database): Promise<boolean> {
  return (await createAccessKeyStore(database).list()).length > 0
}

type Files = Record<'signingKeys' | 'callbackSecret', SharedSecret>

interface PastUse {
  /** True when an older version used the database, which derived the callback secret from SECRET_KEY. */
  wasUsed(): Promise<boolean>
  oldestSecretKey: string
}

/**
 * Imports secrets already in use: a new database starts with the derived secret of an older version, or with the files
 * of a process.
 */
async function importSecrets(files: Files, stored: Files, { wasUsed, oldestSecretKey }: PastUse): Promise<string[]> {
  const notices: string[] = []
  // The callback secret comes first, because later registrations would look like earlier use of the database.
  if ((await stored.callbackSecret.load()) === undefined) {
    const derived = (await wasUsed()) ? deriveCallbackSecret(oldestSecretKey) : undefined
    const secret = derived ?? (await files.callbackSecret.load())
    if (secret !== undefined) await stored.callbackSecret.change((text) => text ?? secret)
    if (secret !== undefined && derived === undefined) notices.push(importNotice(files.callbackSecret))
  }
  const fileKeys = (await stored.signingKeys.load()) === undefined ? await files.signingKeys.load() : undefined
  if (fileKeys === undefined) return notices
  await toSigningKeys(fileKeys, files.signingKeys.label, Date.now)
  if ((await stored.signingKeys.change((text) => text ?? fileKeys)) === fileKeys) notices.push(importNotice(files.signingKeys))
  return notices
}

function importNotice({ label }: SharedSecret): string {
  return `${label} was imported into the database, which is used from now on; the file is not read again.`
}

/** Finds an unused key file of a process that ran alone before: the database does not verify keys of such a file. */
async function findUnused(file: SharedSecret, stored: SharedSecret, now: () => number): Promise<string[]> {
  const [fileKeys, text] = await Promise.all([file.load(), stored.load()])
  if (fileKeys === undefined || text === undefined) return []
  const [unused, keys] = await Promise.all([toSigningKeys(fileKeys, file.label, now), toSigningKeys(text, stored.label, now)])
  if (keys.find(unused.newest().kid)) return []
  return [`${file.label} is not used: the database has other signing keys, and keys signed by this file are not valid.`]
}
