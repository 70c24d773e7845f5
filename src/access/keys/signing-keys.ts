import type { SharedSecret } from './shared-secret.ts'
import { newSigningJwk, toSigningJwk, toSigningKey, type SigningJwk, type SigningKey } from './signing-key.ts'

/** The service's key pairs: one signs, and those before it verify what they have signed as long as that may live. */
export interface SigningKeys {
  newest(): SigningKey
  /** One whose signatures count now. */
  find(kid: string): SigningKey | undefined
  /** Finds one that another process may have made a moment ago too. Rejects where that can't be known. */
  lookFor(kid: string): Promise<SigningKey | undefined>
  /** All whose signatures count now, the newest first. */
  all(): SigningKey[]
}

/** As they are kept: the newest as a JWK, with the earlier ones beside its fields. Times in epoch milliseconds. */
interface KeptKeys {
  newest: SigningJwk
  earlier: { jwk: SigningJwk; until: number }[]
}

/** Loads the signing keys, or makes the first where there is none yet. Throws where what is kept is no Ed25519 private key. */
export async function openSigningKeys(kept: SharedSecret, now: () => number): Promise<SigningKeys> {
  const text = await kept.change(async (text) => text ?? toText({ newest: await newSigningJwk(), earlier: [] }))
  return toSigningKeys(text, kept.label, now)
}

/** Of a text that is kept; `place` names it where it can't be read. */
export async function toSigningKeys(text: string, place: string, now: () => number): Promise<SigningKeys> {
  const { newest, earlier } = parse(text, place)
  const make = (jwk: SigningJwk) =>
    toSigningKey(jwk).catch((cause: unknown) => {
      throw unusable(place, cause)
    })
  const first = await make(newest)
  const others = await Promise.all(earlier.map(async ({ jwk, until }) => ({ key: await make(jwk), until })))
  const byId = new Map([...others, { key: first, until: Number.POSITIVE_INFINITY }].map((one) => [one.key.kid, one]))
  const find = (kid: string) => {
    const found = byId.get(kid)
    return found && found.until > now() ? found.key : undefined
  }
  return {
    newest: () => first,
    find,
    lookFor: async (kid) => find(kid),
    all: () => [first, ...others.filter(({ until }) => until > now()).map(({ key }) => key)],
  }
}

export interface Rotation {
  /** Epoch milliseconds. */
  now(): number
  /** When the last of the keys ends that were made so far; epoch milliseconds. */
  latestExpiry(): Promise<number>
  /** The earlier keys end at once, with all that they have signed. */
  endNow: boolean
}

/** Makes a key that signs from now on. Answers with when the one before it ends; undefined where it has ended. */
export async function rotateSigningKeys(kept: SharedSecret, { now, latestExpiry, endNow }: Rotation): Promise<number | undefined> {
  const jwk = await newSigningJwk()
  const untilOf = async () => Math.max(await latestExpiry(), now() + leastMs)
  let until = await untilOf()
  await kept.change((text) => {
    if (text === undefined || endNow) return toText({ newest: jwk, earlier: [] })
    const { newest, earlier } = parse(text, kept.label)
    return toText({ newest: jwk, earlier: [{ jwk: newest, until }, ...earlier.filter((one) => one.until > now())] })
  })
  if (endNow) return undefined
  // What was signed by the earlier key in the meantime is registered by now.
  const later = await untilOf()
  if (later > until) until = await prolong(kept, jwk, later)
  return until
}

/** A key without an entry in the register is valid too: it was made for 30 days, if nobody asked for more. */
const leastMs = 30 * 24 * 3_600_000

async function prolong(kept: SharedSecret, newest: SigningJwk, until: number): Promise<number> {
  await kept.change((text) => {
    if (text === undefined) throw new Error('The signing keys are gone.')
    const keys = parse(text, kept.label)
    // The one before it follows it; where it is gone itself, so is that one.
    const before = [keys.newest, ...keys.earlier.map(({ jwk }) => jwk)].findIndex(({ x }) => x === newest.x)
    const earlier = keys.earlier.map((one, index) => (index === before ? { ...one, until: Math.max(one.until, until) } : one))
    return toText({ newest: keys.newest, earlier })
  })
  return until
}

function parse(text: string, place: string): KeptKeys {
  const value = tryParse(text)
  const newest = toSigningJwk(value)
  const earlier = ((value as { earlier?: unknown } | undefined)?.earlier ?? []) as unknown
  if (!newest || !Array.isArray(earlier)) throw unusable(place)
  return {
    newest,
    earlier: earlier.map((one: unknown) => {
      const jwk = toSigningJwk(one)
      const until = (one as { until?: unknown } | null)?.until
      if (!jwk || typeof until !== 'number') throw unusable(place)
      return { jwk, until }
    }),
  }
}

/** One key alone is what it was before keys could be rotated; a version of then finds the newest here too. */
function toText({ newest, earlier }: KeptKeys): string {
  return JSON.stringify(earlier.length === 0 ? newest : { ...newest, earlier: earlier.map(({ jwk, until }) => ({ ...jwk, until })) })
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function unusable(place: string, cause?: unknown): Error {
  return new Error(`${place} does not hold a signing key. Restore it, or delete it: then a new one is made, and all keys end.`, { cause })
}
