import type { Identity } from '../identity.ts'
import type { LivePrincipal } from '../live-principal.ts'
import type { Principal } from '../principal.ts'
import type { Grant } from './console-store.ts'

/**
 * A session is read from the store again after this time, so that a session that another process ended stops working within 5 s, even when
 * the message about its end is lost.
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
export function createSessionCache({ load, toLivePrincipal, now }: SessionCacheOptions) {
  const entries = new Map<string, CachedSession>()
  const loading = new Map<string, Promise<CachedSession | undefined>>()

  function store(hash: string, entry: CachedSession): void {
    const oldest = entries.size >= maxCached ? entries.keys().next().value : undefined
    if (oldest !== undefined) entries.delete(oldest)
    entries.set(hash, entry)
  }

  async function read(hash: string): Promise<CachedSession | undefined> {
    const session = await load(hash)
    return session && { until: Math.min(now() + cacheMs, session.expiresAt), principal: toLivePrincipal(session.identity) }
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
