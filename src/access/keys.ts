import { hkdfSync, randomUUIDv7 } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, SignJWT, type CryptoKey, type JWK } from 'jose'
import { ServiceError } from '../errors.ts'
import { ownIssuer } from './principal.ts'

/** Port: where the service's own signing key is kept. */
export interface SigningKeyStore {
  load(): Promise<JWK | undefined>
  /** Keeps the first: where a key is kept already nothing changes, so that racers end with one key. */
  save(jwk: JWK): Promise<void>
}

/** The service's own key pair (Ed25519), ready to use. */
export interface SigningKey {
  /** RFC 7638 thumbprint of the public half. */
  readonly kid: string
  readonly privateKey: CryptoKey
  readonly publicKey: CryptoKey
  /** 32 bytes for one purpose, by HKDF-SHA256: the same as long as the key is. */
  derive(purpose: string): Uint8Array
}

export interface KeyRequest {
  sub: string
  tenant: string
  roles: readonly string[]
  expiresInSeconds: number
  /** Epoch milliseconds. */
  now: number
}

/** What an own key says; times in epoch seconds. */
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
 * Names in a key end up as columns and in logs: bounded, and free of characters that could forge a line. Half a surrogate pair is
 * stored as a replacement character, so that two callers would become one owner.
 */
const name = /^[^\p{Cc}]{1,256}$/u

export function isKeyName(text: unknown): text is string {
  return typeof text === 'string' && name.test(text) && text.trim() !== '' && text.isWellFormed()
}

/** Loads the signing key, or makes one where there is none yet. Throws where what is kept is no Ed25519 private key. */
export async function openSigningKey(store: SigningKeyStore): Promise<SigningKey> {
  const kept = await store.load()
  if (kept) return toSigningKey(kept)
  const { privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  await store.save(await exportJWK(privateKey))
  // What is kept now counts, not what was just made: another process may have been first.
  const first = await store.load()
  if (!first) throw new Error('The signing key was not kept.')
  return toSigningKey(first)
}

async function toSigningKey(jwk: JWK): Promise<SigningKey> {
  const { kty, crv, x, d } = jwk
  if (kty !== 'OKP' || crv !== 'Ed25519' || !x || !d) throw new Error('What is kept as signing key is not an Ed25519 private key.')
  const half = { kty, crv, x }
  const [kid, privateKey, publicKey] = await Promise.all([calculateJwkThumbprint(half), importHalf({ ...half, d }), importHalf(half)])
  const derive = (purpose: string) => new Uint8Array(hkdfSync('sha256', Buffer.from(d, 'base64url'), '', `agent-core ${purpose}`, 32))
  return { kid, privateKey, publicKey, derive }
}

/** Only symmetric keys (`kty: oct`) become bytes. */
async function importHalf(jwk: JWK): Promise<CryptoKey> {
  return (await importJWK(jwk, 'EdDSA')) as CryptoKey
}

/** Makes an access key of the service's own. Throws `invalid_input` where a name or the time makes no usable key. */
export async function createKey(signing: SigningKey, request: KeyRequest): Promise<{ key: string; claims: KeyClaims }> {
  const { sub, tenant, roles, expiresInSeconds, now } = request
  for (const text of [sub, tenant, ...roles]) {
    if (!isKeyName(text)) throw new ServiceError('invalid_input', 'Names in a key have 1 to 256 characters and no control characters.')
  }
  if (!Number.isSafeInteger(expiresInSeconds) || expiresInSeconds < 1) {
    throw new ServiceError('invalid_input', 'A key is valid for a whole number of seconds, at least 1.')
  }
  const iat = Math.floor(now / 1000)
  const claims: KeyClaims = { iss: ownIssuer, sub, tenant, roles: [...roles], iat, exp: iat + expiresInSeconds, jti: randomUUIDv7() }
  const header = { alg: 'EdDSA', kid: signing.kid, typ: 'JWT' }
  return { key: await new SignJWT({ ...claims }).setProtectedHeader(header).sign(signing.privateKey), claims }
}
