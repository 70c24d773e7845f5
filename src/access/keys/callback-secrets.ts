import { hkdfSync, randomBytes } from 'node:crypto'
import type { SharedSecret } from './shared-secret.ts'

/** What callbacks are signed with, as `whsec_<base64>` (Standard Webhooks). */
export interface CallbackSecrets {
  /** The new one first, where there are two. No tenant's tells anything of another's. */
  forTenant(tenant: string): string[]
}

export interface CallbackSecretOptions {
  /** CALLBACK_SECRET. */
  configured: readonly string[]
  /** Where the secret is kept that this service made. */
  stored: SharedSecret
}

const prefix = 'whsec_'
const secretBytes = 32
/** Its receivers are those of the operator, who may set the secret. */
const ownTenant = 'default'

/** What is configured counts; else what is kept, and made at the first start. */
export async function openCallbackSecrets({ configured, stored }: CallbackSecretOptions): Promise<CallbackSecrets> {
  const secrets = configured.length > 0 ? configured : [await stored.change((text) => text ?? toText(randomBytes(secretBytes)))]
  const masters = secrets.map((secret) => toBytes(secret, stored.label))
  return {
    forTenant: (tenant) => masters.map((master) => (tenant === ownTenant ? toText(master) : derive(master, `callbacks of ${tenant}`))),
  }
}

/** The secret of a service that has SECRET_KEY and keeps none. */
export function deriveCallbackSecret(secretKey: string): string {
  return derive(secretKey, 'callbacks')
}

/** RFC 5869. */
function derive(from: Buffer | string, info: string): string {
  return toText(Buffer.from(hkdfSync('sha256', from, '', `agent-core ${info}`, secretBytes)))
}

function toBytes(secret: string, place: string): Buffer {
  const bytes = secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), 'base64') : undefined
  if (!bytes || bytes.length < 24)
    throw new Error(`${place} holds no secret of callbacks. Restore it, or delete it: then a new one is made.`)
  return bytes
}

function toText(bytes: Buffer): string {
  return `${prefix}${bytes.toString('base64')}`
}
