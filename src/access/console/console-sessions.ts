import { ServiceError } from '../../errors.ts'
import type { Bus } from '../../replicas/bus.ts'
import type { Identity } from '../identity.ts'
import type { LivePrincipal } from '../verify.ts'
import type { Principal } from '../permissions.ts'
import { createHmac, hash, randomBytes } from 'node:crypto'

/** A session of the console, found by the value of its cookie. */
export interface ConsoleSession {
  principal: Principal
  csrfToken: string
}

export interface OpenedSession {
  /** The value of the cookie. */
  value: string
  principal: Principal
}

interface SignIn {
  /** The value of the cookie of a session that ends. */
  replaced: string | undefined
}

export type SignInMethod = 'code' | 'key' | 'identity_provider'

/** Sign-in at the console: one-time codes, and sessions that stand for a key as long as the key is valid. */
export interface ConsoleSessions {
  /** Makes a code for the caller's key. `token` is the key itself. */
  createCode(caller: Principal, token: string): Promise<{ code: string; expiresAt: number }>
  /** Opens a session for a verified key. Throws `unauthorized` for a key that has ended. */
  openByKey(caller: Principal, token: string, signIn: SignIn & { method: 'key' | 'identity_provider' }): Promise<OpenedSession>
  /** Opens a session by a code, which is used up. Throws `unauthorized` with the same text for every code that is not valid. */
  openByCode(code: string, signIn: SignIn): Promise<OpenedSession>
  /** A session that was looked up within the last seconds; undefined means unknown: call `find`. */
  findCached(value: string): ConsoleSession | undefined
  /** Undefined for a session that has ended, or never was. */
  find(value: string): Promise<ConsoleSession | undefined>
  /** Ends a session: in this process at once, in others within seconds. */
  end(value: string): Promise<void>
  close(): void
}

/** The key for which a code or a session stands. */
export interface Grant {
  identity: Identity
  /** The `jti` of the key; of a token without one, its SHA-256. */
  keyId: string
}

/** A code or a session. Times in epoch milliseconds. */
export interface NewConsoleEntry extends Grant {
  /** SHA-256 of the code, or of the cookie's value. */
  hash: string
  createdAt: number
  expiresAt: number
}

/** Port: the one-time codes and the sessions of the console. The adapter lives in store/. */
export interface ConsoleStore {
  /** Adds a code. Of the key's codes, only the `keep` newest stay. */
  addCode(code: NewConsoleEntry, keep: number): Promise<void>
  /** Uses up a code, in one conditional update: of concurrent calls one gets the grant. Undefined for a used, expired or unknown code. */
  takeCode(hash: string, now: number): Promise<Grant | undefined>
  /** Adds a session, and ends the session with the hash `replaced`. Of the key's sessions, only the `keep` newest stay. */
  addSession(session: NewConsoleEntry, options: { keep: number; replaced: string | undefined; method?: SignInMethod }): Promise<void>
  /** Undefined for a session that has ended. */
  findSession(hash: string, now: number): Promise<(Grant & { expiresAt: number }) | undefined>
  removeSession(hash: string): Promise<void>
  /** Removes at most `limit` codes and `limit` sessions that have expired. Resolves with the number of removed rows. */
  removeExpired(now: number, limit: number): Promise<number>
}

export interface ConsoleSessionsDependencies {
  store: ConsoleStore
  bus: Bus
  toLivePrincipal(identity: Identity): LivePrincipal
  /** Epoch milliseconds. */
  now(): number
}

const codeLifeMs = 60_000

/** Codes of a key that may wait to be used, so that a caller who asks for codes without end fills no table. */
const codesPerKey = 10

/** Sessions of a key, for many browsers with one key. The oldest ends. */
const sessionsPerKey = 100

export function createConsoleSessions({ store, bus, toLivePrincipal, now }: ConsoleSessionsDependencies): ConsoleSessions {
  const cache = createSessionCache({ load: (hash) => store.findSession(hash, now()), toLivePrincipal, now })
  const endings = [bus.subscribe('console_session_ended', ({ session }) => cache.forget(session)), bus.onGap(() => cache.clear())]

  function forget(hash: string): void {
    cache.forget(hash)
    bus.publish('console_session_ended', { session: hash })
  }

  async function open(
    { identity, keyId }: Grant,
    { replaced: replacedValue, method }: SignIn & { method: SignInMethod },
  ): Promise<OpenedSession | undefined> {
    const principal = now() < identity.expiresAt ? toLivePrincipal(identity)() : undefined
    if (!principal) return undefined
    const value = newSecret()
    const replaced = isSecret(replacedValue) ? hashOf(replacedValue) : undefined
    const session = { identity, keyId, hash: hashOf(value), createdAt: now(), expiresAt: identity.expiresAt }
    await store.addSession(session, { keep: sessionsPerKey, replaced, method })
    if (replaced !== undefined) forget(replaced)
    return { value, principal }
  }

  const find = (session: ReturnType<typeof cache.find>, value: string): ConsoleSession | undefined => {
    return session && { principal: session.principal, csrfToken: (session.entry.csrfToken ??= csrfTokenOf(value)) }
  }

  return {
    async createCode(caller, token) {
      const code = newSecret()
      const createdAt = now()
      const expiresAt = Math.min(createdAt + codeLifeMs, caller.expiresAt)
      await store.addCode({ ...toGrant(caller, token), hash: hashOf(code), createdAt, expiresAt }, codesPerKey)
      return { code, expiresAt }
    },
    async openByKey(caller, token, signIn) {
      const opened = await open(toGrant(caller, token), signIn)
      if (!opened) throw new ServiceError('unauthorized', 'JWT verification failed: the key has expired.')
      return opened
    },
    async openByCode(code, { replaced }) {
      const grant = isSecret(code) ? await store.takeCode(hashOf(code), now()) : undefined
      const opened = grant && (await open(grant, { replaced, method: 'code' }))
      if (!opened) throw new ServiceError('unauthorized', 'The code is not valid: it was used before, or has expired. Make a new code.')
      return opened
    },
    findCached: (value) => (isSecret(value) ? find(cache.find(hashOf(value)), value) : undefined),
    find: async (value) => (isSecret(value) ? find(await cache.load(hashOf(value)), value) : undefined),
    async end(value) {
      if (!isSecret(value)) return
      await store.removeSession(hashOf(value))
      forget(hashOf(value))
    },
    close() {
      for (const end of endings) end()
    },
  }
}

/** The key of a caller, without its permissions: they follow the configuration. */
function toGrant(caller: Principal, token: string): Grant {
  const { permissions: _, ...identity } = caller
  return { identity, keyId: identity.keyId ?? hashOf(token) }
}

/** A new code or cookie value: 256 bits as 43 characters of base64url. */
function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** True for the form of `newSecret`. Other texts are never looked up. */
function isSecret(text: unknown): text is string {
  return typeof text === 'string' && /^[\w-]{43}$/.test(text)
}

/** The stored form of a secret. 256 random bits need no salt and no slow hash. */
function hashOf(secret: string): string {
  return hash('sha256', secret, 'base64url')
}

/** The token that requests of a session repeat in `x-csrf-token`: only a holder of the cookie can compute it, and it does not reveal the cookie. */
function csrfTokenOf(cookieValue: string): string {
  return createHmac('sha256', cookieValue).update('agent-core csrf token').digest('base64url')
}

/**
 * The greatest age of a cached session before the next read from the store: a session that another process ended stops working within 5
 * s, even when the message about the end is lost.
 */
const cacheMs = 3000

const maxCached = 10_000

export interface CachedSession {
  until: number
  principal: LivePrincipal
  csrfToken?: string
}

interface FoundSession {
  entry: CachedSession
  principal: Principal
}

export interface SessionCacheOptions {
  load(hash: string): Promise<(Grant & { expiresAt: number }) | undefined>
  toLivePrincipal(identity: Identity): LivePrincipal
  /** Epoch milliseconds. */
  now(): number
}

/** Sessions by the hash of their cookie, for a few seconds. Keys that end are noticed at each use. */
function createSessionCache({ load, toLivePrincipal, now }: SessionCacheOptions) {
  const entries = new Map<string, CachedSession>()
  const loading = new Map<string, Promise<CachedSession | undefined>>()

  function store(hash: string, entry: CachedSession): void {
    const oldest = entries.size >= maxCached ? entries.keys().next().value : undefined
    if (oldest !== undefined) entries.delete(oldest)
    entries.set(hash, entry)
  }

  async function read(hash: string): Promise<CachedSession | undefined> {
    const session = await load(hash)
    return (
      session && {
        until: Math.min(now() + cacheMs, session.expiresAt),
        principal: toLivePrincipal({ ...session.identity, via: 'console' }),
      }
    )
  }

  function find(hash: string): FoundSession | undefined {
    const entry = entries.get(hash)
    if (!entry) return undefined
    const principal = now() < entry.until ? entry.principal() : undefined
    if (principal) return { entry, principal }
    entries.delete(hash)
    return undefined
  }

  async function loadSession(hash: string): Promise<FoundSession | undefined> {
    const current = loading.get(hash)
    const reading = current ?? read(hash)
    if (!current) loading.set(hash, reading)
    try {
      const entry = await reading
      // A session that ended while it was read has been forgotten, and must not come back.
      if (loading.get(hash) === reading && entry) store(hash, entry)
    } finally {
      if (loading.get(hash) === reading) loading.delete(hash)
    }
    return find(hash)
  }

  return {
    find,
    load: loadSession,
    forget(hash: string): void {
      entries.delete(hash)
      loading.delete(hash)
    },
    clear(): void {
      entries.clear()
      loading.clear()
    },
  }
}
