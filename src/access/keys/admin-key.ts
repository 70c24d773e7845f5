import { decodeJwt } from 'jose'
import { ServiceError } from '../../errors.ts'
import { toRecord, type AccessKeyStore } from './access-key-store.ts'
import type { SharedSecret } from './shared-secret.ts'
import { createKey, type KeyClaims } from './keys.ts'
import { ownIssuer } from '../principal.ts'
import type { SigningKeys } from './signing-keys.ts'
import type { Verifier } from '../verify.ts'

const lifeSeconds = 30 * 24 * 3600
const renewBelowMs = (lifeSeconds * 1000) / 3

export interface AdminKeyOptions {
  /** `admin.key` in the data directory, mode 0600. */
  file: SharedSecret
  /** Where all processes of the service have the same key; absent: each keeps its own in its file alone. */
  shared?: SharedSecret | undefined
  /** The administrators' tenant. */
  tenant: string
  signing: Pick<SigningKeys, 'newest'>
  verifier: Pick<Verifier, 'verify'>
  store: Pick<AccessKeyStore, 'insert'>
  /** Epoch milliseconds. */
  now(): number
}

/** Sees that there is an administrator's key that works for 10 days at least, and that the file has it. Whether that changed the file. */
export async function ensureAdminKey(options: AdminKeyOptions): Promise<{ renewed: boolean }> {
  const { file, shared, store } = options
  const had = await file.load()
  const kept: Pick<SharedSecret, 'change'> = shared ?? { change: async (next) => next(had) }
  const key = await kept.change(async (kept) => (kept !== undefined && (await isGood(kept, options)) ? kept : newKey(options)))
  if (key === had) return { renewed: false }
  // Registered before anybody gets it: a key that works but is not listed could not be found to be revoked.
  await store.insert(toRecord(decodeJwt<KeyClaims>(key)))
  await file.change(() => key)
  return { renewed: true }
}

async function newKey({ tenant, signing, now }: AdminKeyOptions): Promise<string> {
  const request = { sub: 'admin', tenant, roles: ['admin'], expiresInSeconds: lifeSeconds, now: now() }
  return (await createKey(signing.newest(), request)).key
}

async function isGood(key: string, { tenant, verifier, now }: AdminKeyOptions): Promise<boolean> {
  try {
    const who = await verifier.verify(key)
    if (who.issuer !== ownIssuer || who.tenant !== tenant || !who.roles.includes('admin')) return false
    return (decodeJwt(key).exp ?? 0) * 1000 - now() >= renewBelowMs
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unauthorized') return false
    throw error
  }
}
