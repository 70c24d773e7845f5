import { serviceUrl } from './address.ts'
import { createStore } from './store.ts'

const probeMs = 3000

/** True while the service cannot be reached. */
export const connectionLost = createStore(false)

let probe: ReturnType<typeof setInterval> | undefined

/** Marks the connection as lost, and asks `/health` until the service answers again. */
export function watchConnection(): void {
  connectionLost.set(true)
  probe ??= setInterval(() => void ask(), probeMs)
}

async function ask(): Promise<void> {
  try {
    await fetch(serviceUrl('health'), { cache: 'no-store' })
  } catch {
    return
  }
  clearInterval(probe)
  probe = undefined
  connectionLost.set(false)
}
