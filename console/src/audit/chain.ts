import canonicalize from 'canonicalize'
import type { AuditHeadPage, AuditLine } from '../../../client/src/index.ts'

export type HeadKey = AuditHeadPage['jwks']['keys'][number]
type EventLine = Extract<AuditLine, { type: 'event' }>
type HeadLine = Exclude<AuditLine, EventLine>

/** The result of a verification in this browser. */
export interface VerifiedChain {
  events: number
  /** First and last number; 0 without events. */
  first: number
  last: number
  /** The last number with a right signature; 0 for none. */
  signedTo: number
  /** Where the chain is broken, and how. */
  fault?: { seq: number; reason: string }
}

/** Checks signatures of heads; undefined where the browser knows no Ed25519. */
export type HeadCheck = (head: HeadLine) => Promise<boolean>

/** True where the page may compute hashes: browsers offer this on https and on this machine alone. */
export const canVerify = (): boolean => globalThis.crypto?.subtle !== undefined

/**
 * Recomputes the hashes of an export, as `src/audit/verify.ts` does. Ends at the first fault. `onProgress` is called with the number of
 * events now and then.
 */
export async function verifyChain(
  lines: AsyncIterable<AuditLine>,
  check: HeadCheck | undefined,
  onProgress: (events: number) => void = () => undefined,
): Promise<VerifiedChain> {
  const chain: VerifiedChain = { events: 0, first: 0, last: 0, signedTo: 0 }
  let hash: string | undefined
  for await (const line of lines) {
    const reason = line.type === 'event' ? await faultOfEvent(line, chain, hash) : await faultOfHead(line, chain, hash, check)
    if (reason !== undefined) return { ...chain, fault: { seq: line.seq, reason } }
    hash = line.hash
    if (line.type !== 'event') {
      if (check) chain.signedTo = line.seq
      chain.last = line.seq
      continue
    }
    if (chain.events === 0) chain.first = line.seq
    chain.last = line.seq
    if (++chain.events % progressEvery === 0) onProgress(chain.events)
  }
  return chain
}

const progressEvery = 500

async function faultOfEvent(line: EventLine, { last }: VerifiedChain, previous: string | undefined): Promise<string | undefined> {
  const { type: _, prev_hash: stated, hash, ...event } = line
  if (previous !== undefined && line.seq !== last + 1) return `seq ${last + 1} is missing`
  if (previous !== undefined && stated !== previous) return `does not follow seq ${last}`
  if (line.seq === 1 && !/^0{64}$/.test(stated)) return 'does not begin the chain'
  return (await sha256(stated + (canonicalize(event) ?? ''))) === hash ? undefined : 'hash does not match'
}

async function faultOfHead(line: HeadLine, { last }: VerifiedChain, hash: string | undefined, check: HeadCheck | undefined) {
  const isOfChain = hash === undefined || (line.seq === last && line.hash === hash)
  if (!isOfChain) return 'the signed head does not fit'
  return check === undefined || (await check(line).catch(() => false)) ? undefined : 'the signature of the head is wrong'
}

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** A check with the public keys of the service; undefined where the browser cannot verify Ed25519. */
export async function createHeadCheck(keys: readonly HeadKey[]): Promise<HeadCheck | undefined> {
  try {
    const imported = new Map<string, CryptoKey>()
    for (const { kid, kty, crv, x } of keys)
      imported.set(kid, await crypto.subtle.importKey('jwk', { kty, crv, x }, { name: 'Ed25519' }, false, ['verify']))
    return (head) => isSigned(head, imported)
  } catch {
    return undefined
  }
}

async function isSigned({ type, tenant, seq, hash, at, jws }: HeadLine, keys: ReadonlyMap<string, CryptoKey>): Promise<boolean> {
  const [header = '', payload = '', signature = ''] = jws.split('.')
  const { alg, kid, typ } = parsePart(header)
  const key = keys.get(String(kid))
  if (alg !== 'EdDSA' || typ !== `audit-${type}` || !key) return false
  const claims = parsePart(payload)
  const isSame = claims['tenant'] === tenant && claims['seq'] === seq && claims['hash'] === hash && claims['at'] === at
  return isSame && crypto.subtle.verify('Ed25519', key, toBytes(signature), new TextEncoder().encode(`${header}.${payload}`))
}

function parsePart(part: string): Record<string, unknown> {
  return JSON.parse(new TextDecoder().decode(toBytes(part))) as Record<string, unknown>
}

function toBytes(base64url: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(text, (character) => character.charCodeAt(0))
}
