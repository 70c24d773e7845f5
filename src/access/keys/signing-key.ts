import { hkdfSync } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type CryptoKey, type JWK } from 'jose'

/** A key pair of this service (Ed25519), ready to use. */
export interface SigningKey {
  /** RFC 7638 thumbprint of the public half. */
  readonly kid: string
  readonly privateKey: CryptoKey
  readonly publicKey: CryptoKey
  /** Derives 32 bytes for a purpose with HKDF-SHA256; stable as long as the key is. */
  derive(purpose: string): Uint8Array
}

/** The private half, as stored. */
export interface SigningJwk {
  kty: 'OKP'
  crv: 'Ed25519'
  x: string
  d: string
}

const kind = { kty: 'OKP', crv: 'Ed25519' } as const

export async function newSigningJwk(): Promise<SigningJwk> {
  const { privateKey } = await generateKeyPair('EdDSA', { crv: kind.crv, extractable: true })
  const { x, d } = await exportJWK(privateKey)
  return { ...kind, x: x!, d: d! }
}

/** Undefined when `value` is no Ed25519 private key. */
export function toSigningJwk(value: unknown): SigningJwk | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { kty, crv, x, d } = value as JWK
  return kty === 'OKP' && crv === 'Ed25519' && typeof x === 'string' && typeof d === 'string' && x && d ? { ...kind, x, d } : undefined
}

/** Throws when the two halves do not form a key. */
export async function toSigningKey({ d, ...half }: SigningJwk): Promise<SigningKey> {
  const [kid, privateKey, publicKey] = await Promise.all([calculateJwkThumbprint(half), importHalf({ ...half, d }), importHalf(half)])
  const derive = (purpose: string) => new Uint8Array(hkdfSync('sha256', Buffer.from(d, 'base64url'), '', `agent-core ${purpose}`, 32))
  return { kid, privateKey, publicKey, derive }
}

/** The cast is safe: only symmetric keys (`kty: oct`) become bytes. */
async function importHalf(jwk: JWK): Promise<CryptoKey> {
  return (await importJWK(jwk, 'EdDSA')) as CryptoKey
}
