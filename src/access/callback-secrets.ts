import { hkdfSync, randomBytes } from 'node:crypto'

/** Port: where the secret that this service made is kept. */
export interface CallbackSecretStore {
  load(): Promise<string | undefined>
  /** Keeps the first: where there is one already nothing changes. */
  save(secret: string): Promise<void>
}

/** What callbacks are signed with, as `whsec_<base64>` (Standard Webhooks). */
export interface CallbackSecrets {
  /** The new one first, where there are two. No tenant's tells anything of another's. */
  of(tenant: string): string[]
}

interface Options {
  /** CALLBACK_SECRET. */
  configured: readonly string[]
  /** SECRET_KEY, which processes that share a database have in common: they sign alike. */
  secretKey: string | undefined
  store: CallbackSecretStore
}

const prefix = 'whsec_'
const secretBytes = 32
/** Its receivers are those of the operator, who may set the secret. */
const ownTenant = 'default'

/** What is configured counts; else what SECRET_KEY gives; else what is kept, and made at the first start. */
export async function openCallbackSecrets({ configured, secretKey, store }: Options): Promise<CallbackSecrets> {
  const secrets = configured.length > 0 ? configured : [secretKey === undefined ? await loadOrMake(store) : derive(secretKey, 'callbacks')]
  const masters = secrets.map(toBytes)
  return {
    of: (tenant) => masters.map((master) => (tenant === ownTenant ? toText(master) : derive(master, `callbacks of ${tenant}`))),
  }
}

async function loadOrMake(store: CallbackSecretStore): Promise<string> {
  const kept = await store.load()
  if (kept !== undefined) return kept
  await store.save(toText(randomBytes(secretBytes)))
  // What is kept now counts: another process may have been first.
  const first = await store.load()
  if (first === undefined) throw new Error('The secret of callbacks was not kept.')
  return first
}

/** RFC 5869. */
function derive(from: Buffer | string, info: string): string {
  return toText(Buffer.from(hkdfSync('sha256', from, '', `agent-core ${info}`, secretBytes)))
}

function toBytes(secret: string): Buffer {
  const bytes = secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), 'base64') : undefined
  if (!bytes || bytes.length < 24)
    throw new Error('What is kept as secret of callbacks is none. Restore the file, or delete it: then a new one is made.')
  return bytes
}

function toText(bytes: Buffer): string {
  return `${prefix}${bytes.toString('base64')}`
}
