import { setTimeout as sleep } from 'node:timers/promises'
import { type Bus, watchEvery, type Watch } from '../../replicas/bus.ts'
import type { SharedSecret } from './shared-secret.ts'
import { openSigningKeys, toSigningKeys, type SigningKeys } from './signing-keys.ts'

/** Signing keys, kept up to date with changes by other processes. */
export interface LiveSigningKeys extends SigningKeys {
  /** Calls `listener` when the keys have changed. */
  onChange(listener: () => void): void
  close(): Promise<void>
}

export interface LiveSigningKeysOptions {
  /** Epoch milliseconds. */
  now(): number
  bus: Bus
  /** Reports a failed poll: the known keys stay in force. */
  onError(error: unknown): void
  intervalMs?: number
  /** Default: polls at the interval. */
  watch?: Watch
}

/**
 * Polling interval besides the bus, whose messages may get lost; the only source of changes when processes of one
 * machine share a file.
 */
const defaultIntervalMs = 2000
/** Minimum pause between polls for unknown keys. */
const pauseMs = 200

/** Loads the keys, makes the first one when there is none, and keeps them fresh until `close`. */
export async function openLiveSigningKeys(secret: SharedSecret, options: LiveSigningKeysOptions): Promise<LiveSigningKeys> {
  const { now, bus, onError, intervalMs = defaultIntervalMs } = options
  const { watch = watchEvery(intervalMs) } = options
  const listeners = new Set<() => void>()
  const keys = await openSigningKeys(secret, now)
  let text = await secret.load()
  let polling: Promise<void> = Promise.resolve()
  let nextPoll: Promise<void> | undefined
  let polledAt = 0
  let failure = ''
  let waiting: Promise<void> | undefined
  let isClosed = false

  async function poll(): Promise<void> {
    waiting = undefined
    if (isClosed) return
    const current = await secret.load()
    // A missing secret means a restore of a backup, or a deletion by mistake. Processes with keys continue with them.
    if (current === undefined || current === text) return
    const { lookFor: _, ...fresh } = await toSigningKeys(current, secret.label, now)
    Object.assign(live, fresh)
    text = current
    for (const listener of listeners) listener()
  }

  /** Polls run in sequence, because an older result must not replace a newer result. */
  function refresh(): Promise<void> {
    polledAt = performance.now()
    return (polling = polling.catch(() => undefined).then(poll))
  }

  /**
   * Reports the same error once. While the store does not answer, one poll waits behind the running one, however often
   * a poll is requested.
   */
  function refreshAndReport(): Promise<void> {
    return (waiting ??= refresh().then(
      () => void (failure = ''),
      (error: unknown) => {
        if (String(error) !== failure) onError(error)
        failure = String(error)
        throw error
      },
    ))
  }

  const refreshInBackground = () => void refreshAndReport().catch(() => undefined)

  /** Starts a poll after the pause; all calls before the start share the poll. */
  async function pollAgain(): Promise<void> {
    await sleep(Math.max(0, polledAt + pauseMs - performance.now()))
    nextPoll = undefined
    await refresh()
  }

  const live: LiveSigningKeys = {
    ...keys,
    async lookFor(kid) {
      await (nextPoll ??= pollAgain())
      return live.find(kid)
    },
    onChange: (listener) => void listeners.add(listener),
    async close() {
      isClosed = true
      for (const end of endings) end()
      await polling.catch(() => undefined)
    },
  }
  const endings = [bus.subscribe('signing_keys', refreshInBackground), bus.onGap(refreshInBackground), watch(refreshAndReport)]
  return live
}
