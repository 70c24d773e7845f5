import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus } from '../../replicas/bus.ts'
import type { SharedSecret } from './shared-secret.ts'
import { openSigningKeys, toSigningKeys, type SigningKeys } from './signing-keys.ts'

/** Signing keys that follow what other processes do with them. */
export interface LiveSigningKeys extends SigningKeys {
  /** Called when they have changed. */
  onChange(listener: () => void): void
  close(): Promise<void>
}

export interface LiveSigningKeysOptions {
  /** Epoch milliseconds. */
  now(): number
  bus: Bus
  /** A look that failed: what was known stays in force. */
  onError(error: unknown): void
  intervalMs?: number
}

/** Behind the news, which may get lost; and alone where processes of one machine share a file. */
const defaultIntervalMs = 2000
/** So many looks a second are made for keys that nobody knows, whoever asks for them. */
const pauseMs = 200

/** Loads the keys, makes the first where there is none, and keeps them fresh until `close`. */
export async function openLiveSigningKeys(kept: SharedSecret, options: LiveSigningKeysOptions): Promise<LiveSigningKeys> {
  const { now, bus, onError, intervalMs = defaultIntervalMs } = options
  const listeners = new Set<() => void>()
  let keys = await openSigningKeys(kept, now)
  let text = await kept.load()
  let looking: Promise<void> = Promise.resolve()
  let soon: Promise<void> | undefined
  let lookedAt = 0
  let failure = ''
  let isWaiting = false
  let isClosed = false

  async function look(): Promise<void> {
    isWaiting = false
    if (isClosed) return
    const found = await kept.load()
    // None at all: somebody restores a backup, or has deleted them by mistake. Those who have keys go on with them.
    if (found === undefined || found === text) return
    keys = await toSigningKeys(found, kept.label, now)
    text = found
    for (const listener of listeners) listener()
  }

  /** One after another: an older answer must not follow a newer one. */
  function refresh(): Promise<void> {
    lookedAt = performance.now()
    return (looking = looking.catch(() => undefined).then(look))
  }

  /** The same fault is told once. While the store does not answer one look waits behind the one under way, however often it is asked for. */
  function refreshAlone(): void {
    if (isWaiting) return
    isWaiting = true
    refresh().then(
      () => (failure = ''),
      (error: unknown) => {
        if (String(error) !== failure) onError(error)
        failure = String(error)
      },
    )
  }

  /** A look that begins after this call, shared by all who call before it begins. */
  async function lookAgain(): Promise<void> {
    await sleep(Math.max(0, lookedAt + pauseMs - performance.now()))
    soon = undefined
    await refresh()
  }

  const endings = [bus.subscribe('signing_keys', refreshAlone), bus.onGap(refreshAlone)]
  const timer = setInterval(refreshAlone, intervalMs)
  timer.unref()

  return {
    newest: () => keys.newest(),
    find: (kid) => keys.find(kid),
    all: () => keys.all(),
    async lookFor(kid) {
      await (soon ??= lookAgain())
      return keys.find(kid)
    },
    onChange: (listener) => void listeners.add(listener),
    async close() {
      isClosed = true
      clearInterval(timer)
      for (const end of endings) end()
      await looking.catch(() => undefined)
    },
  }
}
