import type { SharedSecret } from './shared-secret.ts'
import { hkdfSync } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type CryptoKey, type JWK } from 'jose'
import { parseJson } from '../../json/shape.ts'

/** A key pair of this service (Ed25519), ready to use. */
export interface SigningKey {
  /** RFC 7638 thumbprint of the public half. */
  readonly kid: string
  readonly privateKey: CryptoKey
  readonly publicKey: CryptoKey
  /** Derives 32 bytes for a purpose with HKDF-SHA256; stable as long as the key is. */
  derive(purpose: string): Uint8Array
}

/** The service's key pairs: the newest signs; earlier pairs verify signatures as long as signed keys may live. */
export interface SigningKeys {
  newest(): SigningKey
  /** The key with the id `kid`, when signatures of the key are valid now. */
  find(kid: string): SigningKey | undefined
  /**
   * Like `find`, but also finds a key that another process made a moment ago. Rejects when the store cannot be read.
   */
  lookFor(kid: string): Promise<SigningKey | undefined>
  /** All keys whose signatures are valid now, newest first. */
  all(): SigningKey[]
  /** The public halves of all keys that there ever were, newest first: signed heads of the audit ledger outlive their keys. */
  publicKeys(): PublicKey[]
  /** The key, derived from a signing key of any time, that authenticates ends of audit chains. */
  chainKey(kid: string): Uint8Array | undefined
}

/** The public half of a key, as in a JWKS. `exp`: nothing is signed after this time, in epoch seconds. */
export interface PublicKey {
  kty: 'OKP'
  crv: 'Ed25519'
  x: string
  kid: string
  alg: 'EdDSA'
  use: 'sig'
  exp?: number
}

/** The stored form: the newest key as a JWK, with the earlier keys beside its fields. Times in epoch milliseconds. */
interface StoredKeys {
  newest: SigningJwk
  earlier: { jwk: SigningJwk; until: number }[]
  /** Keys without their private halves, whose signatures have ended. */
  retired: RetiredKey[]
}

interface RetiredKey {
  kid: string
  x: string
  until: number
  /** `chainKey`, as base64url. */
  chain: string
}

const chainPurpose = 'audit chain'

/** Loads the signing keys, or makes the first when there is none. Throws when the secret is no Ed25519 private key. */
export async function openSigningKeys(secret: SharedSecret, now: () => number): Promise<SigningKeys> {
  const text = await secret.change(async (text) => text ?? toText({ newest: await newSigningJwk(), earlier: [], retired: [] }))
  return toSigningKeys(text, secret.label, now)
}

/** Parses the stored text; `label` names the source in errors. */
export async function toSigningKeys(text: string, label: string, now: () => number): Promise<SigningKeys> {
  const { newest, earlier, retired } = parse(text, label)
  const make = (jwk: SigningJwk) =>
    toSigningKey(jwk).catch((cause: unknown) => {
      throw unusable(label, cause)
    })
  const first = await make(newest)
  const earlierKeys = await Promise.all(earlier.map(async ({ jwk, until }) => ({ key: await make(jwk), until })))
  const byId = new Map([...earlierKeys, { key: first, until: Number.POSITIVE_INFINITY }].map((entry) => [entry.key.kid, entry]))
  const find = (kid: string) => {
    const entry = byId.get(kid)
    return entry && entry.until > now() ? entry.key : undefined
  }
  return {
    newest: () => first,
    find,
    lookFor: async (kid) => find(kid),
    all: () => [first, ...earlierKeys.filter(({ until }) => until > now()).map(({ key }) => key)],
    publicKeys: () => [
      toPublicKey({ kid: first.kid, x: newest.x }),
      ...earlierKeys.map(({ key, until }, index) => toPublicKey({ kid: key.kid, x: earlier[index]!.jwk.x, until })),
      ...retired.map(toPublicKey),
    ],
    chainKey(kid) {
      const chain = retired.find((entry) => entry.kid === kid)?.chain
      return byId.get(kid)?.key.derive(chainPurpose) ?? (chain === undefined ? undefined : Buffer.from(chain, 'base64url'))
    },
  }
}

function toPublicKey({ kid, x, until }: { kid: string; x: string; until?: number }): PublicKey {
  return { ...kind, x, kid, alg: 'EdDSA', use: 'sig', ...(until !== undefined && { exp: Math.ceil(until / 1000) }) }
}

export interface Rotation {
  /** Epoch milliseconds. */
  now(): number
  /** The latest expiry of all keys made so far; epoch milliseconds. */
  latestExpiry(): Promise<number>
  /** Ends the earlier keys at once, with all access keys signed by them. */
  endNow: boolean
}

/** Makes a new signing key. Returns the end of the previous key; undefined when the previous key has ended. */
export async function rotateSigningKeys(secret: SharedSecret, { now, latestExpiry, endNow }: Rotation): Promise<number | undefined> {
  const jwk = await newSigningJwk()
  const untilOf = async () => Math.max(await latestExpiry(), now() + minValidMs)
  let until = await untilOf()
  await secret.change(async (text) => {
    if (text === undefined) return toText({ newest: jwk, earlier: [], retired: [] })
    const { newest, earlier, retired } = parse(text, secret.label)
    const before = [{ jwk: newest, until: endNow ? now() : until }, ...earlier]
    const isValid = (entry: { until: number }) => !endNow && entry.until > now()
    const ended = await Promise.all(before.filter((entry) => !isValid(entry)).map((entry) => retire(entry, now())))
    return toText({ newest: jwk, earlier: before.filter(isValid), retired: [...ended, ...retired] })
  })
  if (endNow) return undefined
  // Access keys that the previous key signed in the meantime are registered by now.
  const later = await untilOf()
  if (later > until) until = await prolong(secret, jwk, later)
  return until
}

async function retire({ jwk, until }: { jwk: SigningJwk; until: number }, now: number): Promise<RetiredKey> {
  const { kid, derive } = await toSigningKey(jwk)
  return { kid, x: jwk.x, until: Math.min(until, now), chain: Buffer.from(derive(chainPurpose)).toString('base64url') }
}

/** A key without an entry in the register is valid too; the default lifetime is 30 days. */
const minValidMs = 30 * 24 * 3_600_000

async function prolong(secret: SharedSecret, newest: SigningJwk, until: number): Promise<number> {
  await secret.change((text) => {
    if (text === undefined) throw new Error('The signing keys are gone.')
    const keys = parse(text, secret.label)
    // Prolong the key that preceded `newest`. If `newest` has been rotated away meanwhile, there is nothing to prolong.
    const before = [keys.newest, ...keys.earlier.map(({ jwk }) => jwk)].findIndex(({ x }) => x === newest.x)
    const earlier = keys.earlier.map((entry, index) => (index === before ? { ...entry, until: Math.max(entry.until, until) } : entry))
    return toText({ ...keys, earlier })
  })
  return until
}

function parse(text: string, label: string): StoredKeys {
  const value = parseJson(text)
  const newest = toSigningJwk(value)
  const { earlier = [], retired = [] } = (value ?? {}) as { earlier?: unknown; retired?: unknown }
  if (!newest || !Array.isArray(earlier) || !Array.isArray(retired)) throw unusable(label)
  return {
    newest,
    retired: retired as RetiredKey[],
    earlier: earlier.map((entry: unknown) => {
      const jwk = toSigningJwk(entry)
      const until = (entry as { until?: unknown } | null)?.until
      if (!jwk || typeof until !== 'number') throw unusable(label)
      return { jwk, until }
    }),
  }
}

/** A single key is stored as a plain JWK, as before rotation existed; older versions find the newest key here too. */
function toText({ newest, earlier, retired }: StoredKeys): string {
  const more = earlier.map(({ jwk, until }) => ({ ...jwk, until }))
  return JSON.stringify({ ...newest, ...(more.length > 0 && { earlier: more }), ...(retired.length > 0 && { retired }) })
}

function unusable(label: string, cause?: unknown): Error {
  return new Error(
    `${label} does not hold a signing key. Restore the key, or delete it to have a new one made; all access keys end then.`,
    { cause },
  )
}

/** The private half, as stored. */
export interface SigningJwk {
  kty: 'OKP'
  crv: 'Ed25519'
  x: string
  d: string
}

const kind = { kty: 'OKP', crv: 'Ed25519' } as const

async function newSigningJwk(): Promise<SigningJwk> {
  const { privateKey } = await generateKeyPair('EdDSA', { crv: kind.crv, extractable: true })
  const { x, d } = await exportJWK(privateKey)
  return { ...kind, x: x!, d: d! }
}

/** Undefined when `value` is no Ed25519 private key. */
function toSigningJwk(value: unknown): SigningJwk | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { kty, crv, x, d } = value as JWK
  return kty === 'OKP' && crv === 'Ed25519' && typeof x === 'string' && typeof d === 'string' && x && d ? { ...kind, x, d } : undefined
}

/** Throws when the two halves do not form a key. */
async function toSigningKey({ d, ...half }: SigningJwk): Promise<SigningKey> {
  const [kid, privateKey, publicKey] = await Promise.all([calculateJwkThumbprint(half), importHalf({ ...half, d }), importHalf(half)])
  const derive = (purpose: string) => new Uint8Array(hkdfSync('sha256', Buffer.from(d, 'base64url'), '', `agent-core ${purpose}`, 32))
  return { kid, privateKey, publicKey, derive }
}

/** The cast is safe: only symmetric keys (`kty: oct`) become bytes. */
async function importHalf(jwk: JWK): Promise<CryptoKey> {
  return (await importJWK(jwk, 'EdDSA')) as CryptoKey
}
