import { hkdfSync } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type CryptoKey, type JWK } from 'jose'

/** A key pair of the service's own (Ed25519), ready to use. */
export interface SigningKey {
  /** RFC 7638 thumbprint of the public half. */
  readonly kid: string
  readonly privateKey: CryptoKey
  readonly publicKey: CryptoKey
  /** 32 bytes for one purpose, by HKDF-SHA256: the same as long as the key is. */
  derive(purpose: string): Uint8Array
}

/** The private half, as it is kept. */
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

/** Undefined where it is no private key of this kind. */
export function toSigningJwk(value: unknown): SigningJwk | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { kty, crv, x, d } = value as JWK
  return kty === 'OKP' && crv === 'Ed25519' && typeof x === 'string' && typeof d === 'string' && x && d ? { ...kind, x, d } : undefined
}

/** Throws where the two halves are no key. */
export async function toSigningKey({ d, ...half }: SigningJwk): Promise<SigningKey> {
  const [kid, privateKey, publicKey] = await Promise.all([calculateJwkThumbprint(half), importHalf({ ...half, d }), importHalf(half)])
  const derive = (purpose: string) => new Uint8Array(hkdfSync('sha256', Buffer.from(d, 'base64url'), '', `agent-core ${purpose}`, 32))
  return { kid, privateKey, publicKey, derive }
}

/** Only symmetric keys (`kty: oct`) become bytes. */
async function importHalf(jwk: JWK): Promise<CryptoKey> {
  return (await importJWK(jwk, 'EdDSA')) as CryptoKey
}
