import { hkdfSync, randomBytes } from 'node:crypto'

/** Port: a secret text shared by all processes of the service. Adapters live in store/. */
export interface SharedSecret {
  /** The location of the secret, in words for an operator. */
  readonly label: string
  /** Undefined before the first `change`. */
  load(): Promise<string | undefined>
  /**
   * Stores the result of `next` on the stored text, and returns the stored text afterwards. When another process was
   * faster, `next` is called again with the new text: of processes that start together the first stores a text, and all
   * return the same text.
   */
  change(next: (current: string | undefined) => Promise<string> | string): Promise<string>
}

/** The signing secrets of callbacks, as `whsec_<base64>` (Standard Webhooks). */
export interface CallbackSecrets {
  /**
   * The tenant's secrets, newest first during a rotation. A secret reveals nothing about the secrets of other tenants.
   */
  forTenant(tenant: string): string[]
}

export interface CallbackSecretOptions {
  /** CALLBACK_SECRET. */
  configured: readonly string[]
  /** The stored secret, made by this service. */
  stored: SharedSecret
}

const prefix = 'whsec_'
const secretBytes = 32
/** The operator's own tenant, whose receivers use the configured secret directly. */
export const operatorTenant = 'default'

/** Uses the configured secrets, or else the stored secret, which is made at the first start. */
export async function openCallbackSecrets({ configured, stored }: CallbackSecretOptions): Promise<CallbackSecrets> {
  const secrets = configured.length > 0 ? configured : [await stored.change((text) => text ?? toText(randomBytes(secretBytes)))]
  const masters = secrets.map((secret) => toBytes(secret, stored.label))
  return {
    forTenant: (tenant) => masters.map((master) => (tenant === operatorTenant ? toText(master) : derive(master, `callbacks of ${tenant}`))),
  }
}

/** The secret of a service that has SECRET_KEY and no stored secret. */
export function deriveCallbackSecret(secretKey: string): string {
  return derive(secretKey, 'callbacks')
}

/** Derives a secret with HKDF (RFC 5869). */
function derive(master: Buffer | string, info: string): string {
  return toText(Buffer.from(hkdfSync('sha256', master, '', `agent-core ${info}`, secretBytes)))
}

function toBytes(secret: string, label: string): Buffer {
  const bytes = secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), 'base64') : undefined
  if (!bytes || bytes.length < 24)
    throw new Error(`${label} holds no callback secret. Restore the secret, or delete it to have a new one made.`)
  return bytes
}

function toText(bytes: Buffer): string {
  return `${prefix}${bytes.toString('base64')}`
}
