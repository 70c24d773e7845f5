import { randomUUIDv7 } from 'node:crypto'
import { SignJWT } from 'jose'
import { ServiceError } from '../../errors.ts'
import { ownIssuer } from '../principal.ts'
import type { SigningKey } from './signing-key.ts'

export interface KeyRequest {
  sub: string
  tenant: string
  roles: readonly string[]
  expiresInSeconds: number
  /** Epoch milliseconds. */
  now: number
}

/** The claims of keys issued by this service; times in epoch seconds. */
export interface KeyClaims {
  iss: typeof ownIssuer
  sub: string
  tenant: string
  roles: string[]
  iat: number
  exp: number
  /** A UUIDv7. */
  jti: string
}

/**
 * Names in a key become columns and log fields, so they are bounded and free of control characters, which could forge a
 * log line. Unpaired surrogates are refused because they are stored as a replacement character, and two callers would
 * become one owner.
 */
const name = /^[^\p{Cc}]{1,256}$/u

export function isKeyName(text: unknown): text is string {
  return typeof text === 'string' && name.test(text) && text.trim() !== '' && text.isWellFormed()
}

/** The claims of a new access key. Throws `invalid_input` for an unusable name or lifetime. */
export function newClaims({ sub, tenant, roles, expiresInSeconds, now }: KeyRequest): KeyClaims {
  for (const text of [sub, tenant, ...roles]) {
    if (!isKeyName(text)) throw new ServiceError('invalid_input', 'Names in a key have 1 to 256 characters and no control characters.')
  }
  if (!Number.isSafeInteger(expiresInSeconds) || expiresInSeconds < 1) {
    throw new ServiceError('invalid_input', 'A key is valid for a whole number of seconds, at least 1.')
  }
  const iat = Math.floor(now / 1000)
  return { iss: ownIssuer, sub, tenant, roles: [...roles], iat, exp: iat + expiresInSeconds, jti: randomUUIDv7() }
}

export function signClaims({ kid, privateKey }: SigningKey, claims: KeyClaims): Promise<string> {
  return new SignJWT({ ...claims }).setProtectedHeader({ alg: 'EdDSA', kid, typ: 'JWT' }).sign(privateKey)
}

/** Makes an access key. Throws `invalid_input` for an unusable name or lifetime. */
export async function createKey(signing: SigningKey, request: KeyRequest): Promise<{ key: string; claims: KeyClaims }> {
  const claims = newClaims(request)
  return { key: await signClaims(signing, claims), claims }
}
