import { createHmac, createPublicKey, timingSafeEqual, verify, webcrypto, type KeyObject } from 'node:crypto'

/** A position in the chain of a tenant. `cut`: the last event that retention has removed. */
export interface Head {
  tenant: string
  kind: 'head' | 'cut'
  seq: number
  hash: string
  /** ISO 8601. */
  at: string
}

export interface SignedHead extends Head {
  kid: string
  /** JWS in compact form (RFC 7515), signed with Ed25519. Its payload has tenant, seq, hash and at. */
  jws: string
}

/** The public half of a signing key, as in a JWKS. `exp`: nothing is signed after this time, in epoch seconds. */
export interface HeadKey {
  kid: string
  kty: string
  crv: string
  x: string
  exp?: number
}

/** Port: the signing keys of the service. */
export interface LedgerKeys {
  newest(): { readonly kid: string; readonly privateKey: webcrypto.CryptoKey }
  /** The key, derived from a signing key of any time, that authenticates ends of chains. */
  chainKey(kid: string): Uint8Array | undefined
  /** Of all keys that there ever were. */
  publicKeys(): HeadKey[]
}

/** The header `typ` of a head: a cut cannot pass for a head, nor either for an access key. */
const types: Record<Head['kind'], string> = { head: 'audit-head', cut: 'audit-cut' }

export async function signHead(head: Head, keys: Pick<LedgerKeys, 'newest'>): Promise<SignedHead> {
  const { tenant, kind, seq, hash, at } = head
  const { kid, privateKey } = keys.newest()
  const input = [
    { alg: 'EdDSA', kid, typ: types[kind] },
    { tenant, seq, hash, at },
  ]
    .map(toBase64Url)
    .join('.')
  const signature = await webcrypto.subtle.sign('Ed25519', privateKey, Buffer.from(input))
  return { ...head, kid, jws: `${input}.${Buffer.from(signature).toString('base64url')}` }
}

function toBase64Url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** A signature, at most: header and payload have names of at most 256 characters. */
const maxJwsLength = 8192
/** A process that has not yet heard of the end of its key may still sign, and clocks differ. */
const leewayMs = 300_000

/** Checks signed heads against public keys. The result says what is wrong with a head; undefined: nothing. */
export function createHeadCheck(keys: readonly HeadKey[]): (head: SignedHead) => string | undefined {
  const byId = new Map(keys.map((key) => [key.kid, key]))
  const objects = new Map<string, KeyObject>()
  const objectOf = ({ kid, kty, crv, x }: HeadKey) => {
    const object = objects.get(kid) ?? createPublicKey({ key: { kty, crv, x }, format: 'jwk' })
    objects.set(kid, object)
    return object
  }
  return ({ tenant, kind, seq, hash, at, jws }) => {
    const [header = '', payload = '', signature = '', ...more] = jws.length > maxJwsLength ? [] : jws.split('.')
    const { alg, kid, typ } = parsePart(header)
    if (alg !== 'EdDSA' || typ !== types[kind] || more.length > 0) return 'the signature is not one of a head'
    const key = byId.get(String(kid))
    if (!key) return `the signature is of a key that is not known (${String(kid)})`
    const bytes = Buffer.from(signature, 'base64url')
    // Other texts of the same bytes are no signature: a changed character is always found.
    const isSigned = bytes.toString('base64url') === signature && verify(null, Buffer.from(`${header}.${payload}`), objectOf(key), bytes)
    if (!isSigned) return 'the signature is wrong'
    const claims = parsePart(payload)
    const isSame = claims['tenant'] === tenant && claims['seq'] === seq && claims['hash'] === hash && claims['at'] === at
    if (!isSame) return 'the signature is of another head'
    if (key.exp !== undefined && Date.parse(at) > key.exp * 1000 + leewayMs) return 'the signature is of a key that had ended'
    return undefined
  }
}

function parsePart(part: string): Record<string, unknown> {
  try {
    return (JSON.parse(Buffer.from(part, 'base64url').toString()) ?? {}) as Record<string, unknown>
  } catch {
    return {}
  }
}

/** The end of a chain, as stored. */
export interface ChainEnd {
  tenant: string
  seq: number
  hash: string
}

/** The end, with the code of authentication and the signing key from which its key is derived. */
export interface StoredEnd extends ChainEnd {
  kid: string
  mac: string
}

/** Code of authentication of the end of a chain, in hex: whoever writes to the database alone cannot make the code. */
export function chainMac({ tenant, seq, hash }: ChainEnd, key: Uint8Array): string {
  return createHmac('sha256', key)
    .update(JSON.stringify([tenant, seq, hash]))
    .digest('hex')
}

/** True where the service itself has stored the end. */
export function isOwnEnd(end: StoredEnd, keys: Pick<LedgerKeys, 'chainKey'>): boolean {
  const key = keys.chainKey(end.kid)
  if (!key) return false
  const expected = Buffer.from(chainMac(end, key))
  const actual = Buffer.from(end.mac)
  return actual.length === expected.length && timingSafeEqual(actual, expected)
}
