import { decodeJwt } from 'jose'
import { serviceActing } from '../../audit/acts.ts'
import { ServiceError } from '../../errors.ts'
import { toRecord, type AccessKeyStore, createKey, type KeyClaims } from './keys.ts'
import type { SharedSecret } from './shared-secret.ts'
import { ownIssuer } from '../permissions.ts'
import type { SigningKeys } from './signing-keys.ts'
import type { Verifier } from '../verify.ts'

const lifeSeconds = 30 * 24 * 3600
const renewBelowMs = (lifeSeconds * 1000) / 3

export interface AdminKeyOptions {
  /** `admin.key` in the data directory, mode 0600. */
  file: SharedSecret
  /** The administrator's key of all processes; absent: each process has a separate key in a file. */
  shared?: SharedSecret | undefined
  /** The administrators' tenant. */
  tenant: string
  signing: Pick<SigningKeys, 'newest'>
  verifier: Pick<Verifier, 'verify'>
  store: Pick<AccessKeyStore, 'insert'>
  /** Epoch milliseconds. */
  now(): number
}

/**
 * Ensures an administrator's key that is valid for at least 10 days, in the file too. Returns whether the file changed.
 */
export async function ensureAdminKey(options: AdminKeyOptions): Promise<{ renewed: boolean }> {
  const { file, shared, store } = options
  const fileKey = await file.load()
  const secret: Pick<SharedSecret, 'change'> = shared ?? { change: async (next) => next(fileKey) }
  const key = await secret.change(async (current) => {
    return current !== undefined && (await isGood(current, options)) ? current : newKey(options)
  })
  if (key === fileKey) return { renewed: false }
  // Register the key before writing the file: a working key that is not listed could not be revoked.
  await store.insert(toRecord(decodeJwt<KeyClaims>(key)), serviceActing)
  await file.change(() => key)
  return { renewed: true }
}

async function newKey({ tenant, signing, now }: AdminKeyOptions): Promise<string> {
  const request = { sub: 'admin', tenant, roles: ['admin'], expiresInSeconds: lifeSeconds, now: now() }
  return (await createKey(signing.newest(), request)).key
}

async function isGood(key: string, { tenant, verifier, now }: AdminKeyOptions): Promise<boolean> {
  try {
    const principal = await verifier.verify(key)
    if (principal.issuer !== ownIssuer || principal.tenant !== tenant || !principal.roles.includes('admin')) return false
    return (decodeJwt(key).exp ?? 0) * 1000 - now() >= renewBelowMs
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unauthorized') return false
    throw error
  }
}
