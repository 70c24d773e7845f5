import type { Bus } from '../replicas/bus.ts'
import type { AccessKeyStore } from './keys/access-key-store.ts'

/** How far the clocks of two replicas may be apart before a revocation could be missed; asking that far back costs one index range. */
const overlapMs = 10 * 60_000

/** Behind the news: a revoked key stops working within 5 s everywhere. Two looks fit into that, so one may fail. */
const defaultIntervalMs = 2000

/** Which keys are revoked, in memory: asked on every request. */
export interface Revocations {
  isRevoked(jti: string): boolean
  /** Looks now; rejects where the store can't be read. Calls at the same time share one look. */
  refresh(): Promise<void>
  close(): Promise<void>
}

export interface RevocationOptions {
  /** Epoch milliseconds. */
  now(): number
  bus: Bus
  /** A look that failed: what was known stays in force. */
  onError(error: unknown): void
  intervalMs?: number
}

/** Loads what is revoked, then keeps it fresh until `close`. Rejects where the first look fails: nothing is served on a guess. */
export async function createRevocations(store: AccessKeyStore, options: RevocationOptions): Promise<Revocations> {
  const { now, bus, onError, intervalMs = defaultIntervalMs } = options
  const revoked = new Set<string>()
  let since = 0
  let looking: Promise<void> | undefined

  async function look(): Promise<void> {
    const startedAt = now()
    for (const { jti } of await store.revokedSince(since)) revoked.add(jti)
    since = Math.max(0, startedAt - overlapMs)
  }

  function refresh(): Promise<void> {
    looking ??= look().finally(() => {
      looking = undefined
    })
    return looking
  }

  const refreshAlone = () => void refresh().catch(onError)
  const endings = [bus.subscribe('revoked', ({ jti }) => void revoked.add(jti)), bus.onGap(refreshAlone)]
  try {
    await refresh()
  } catch (error) {
    for (const end of endings) end()
    throw error
  }
  const timer = setInterval(refreshAlone, intervalMs)
  timer.unref()

  async function close(): Promise<void> {
    clearInterval(timer)
    for (const end of endings) end()
    await looking?.catch(() => undefined)
  }

  return { isRevoked: (jti) => revoked.has(jti), refresh, close }
}
