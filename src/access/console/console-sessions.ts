import { ServiceError } from '../../errors.ts'
import type { Bus } from '../../replicas/bus.ts'
import type { Identity } from '../identity.ts'
import type { LivePrincipal } from '../live-principal.ts'
import type { Principal } from '../principal.ts'
import type { ConsoleStore, Grant } from './console-store.ts'
import { csrfTokenOf, hashOf, isSecret, newSecret } from './secrets.ts'
import { createSessionCache } from './session-cache.ts'

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

/** Sign-in at the console: one-time codes, and sessions that stand for a key as long as the key is valid. */
export interface ConsoleSessions {
  /** Makes a code for the caller's key. `token` is the key itself. */
  createCode(caller: Principal, token: string): Promise<{ code: string; expiresAt: number }>
  /** Opens a session for a verified key. `replaced` is the cookie's value of a session that ends. Throws `unauthorized` for a key that has ended. */
  openByKey(caller: Principal, token: string, replaced?: string): Promise<OpenedSession>
  /** Opens a session by a code, which is used up. Throws `unauthorized` with the same text for every code that is not valid. */
  openByCode(code: string, replaced?: string): Promise<OpenedSession>
  /** A session that was looked up within the last seconds; undefined means unknown: call `find`. */
  findCached(value: string): ConsoleSession | undefined
  /** Undefined for a session that has ended, or never was. */
  find(value: string): Promise<ConsoleSession | undefined>
  /** Ends a session: in this process at once, in others within seconds. */
  end(value: string): Promise<void>
  close(): void
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

  async function open({ identity, keyId }: Grant, replacedValue: string | undefined): Promise<OpenedSession | undefined> {
    const principal = now() < identity.expiresAt ? toLivePrincipal(identity)() : undefined
    if (!principal) return undefined
    const value = newSecret()
    const replaced = isSecret(replacedValue) ? hashOf(replacedValue) : undefined
    const session = { identity, keyId, hash: hashOf(value), createdAt: now(), expiresAt: identity.expiresAt }
    await store.addSession(session, { keep: sessionsPerKey, replaced })
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
    async openByKey(caller, token, replaced) {
      const opened = await open(toGrant(caller, token), replaced)
      if (!opened) throw new ServiceError('unauthorized', 'JWT verification failed: the key has expired.')
      return opened
    },
    async openByCode(code, replaced) {
      const grant = isSecret(code) ? await store.takeCode(hashOf(code), now()) : undefined
      const opened = grant && (await open(grant, replaced))
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
