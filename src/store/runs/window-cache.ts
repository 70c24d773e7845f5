import type { HeldRun, HistoryMessage } from '../../runs/run-store.ts'
import type { HistoryPart } from './statements.ts'

/** Messages of a session before the question of `run`, which has read them, deleted ones included. */
export interface CachedWindow {
  messages: HistoryMessage[]
  /** Characters of the messages as stored; an estimate. */
  characters: number
  /** The checkpoint id of the session. Every change of a message but an append behind the window sets a new id. */
  checkpointId: string | undefined
  run: Pick<HeldRun, 'requestId' | 'fence'>
}

type Session = Pick<HistoryPart, 'tenant' | 'session'>

/** A shorter window is read as fast as the cache is looked up. */
const minMessages = 8
/** Bytes of all windows. A character has up to two bytes, and the objects of a message have some hundred. */
const maxSize = 16 * 1024 * 1024
const messageSize = 500
/** A window that no run has used between two sweeps is dropped: a deleted text leaves the memory within twice the time. */
const sweepMs = 60_000

/**
 * The windows of sessions in this process: the next run of a session reads new messages only. A window is used only where the session still has
 * its checkpoint id. The id changes with each end of a run, so `ended` sets the id of a window whose run has held the session until that end.
 */
export function createWindowCache() {
  /** Ordered by last use, oldest first. */
  const windows = new Map<string, CachedWindow & { from: number; size: number; isOld: boolean }>()
  let size = 0
  let timer: NodeJS.Timeout | undefined

  function drop(key: string): void {
    size -= windows.get(key)?.size ?? 0
    windows.delete(key)
  }

  function sweep(): void {
    for (const [key, window] of windows) {
      if (window.isOld) drop(key)
      window.isOld = true
    }
    timer = windows.size > 0 ? setTimeout(sweep, sweepMs).unref() : undefined
  }

  return {
    /** Takes out a window that begins at `from`. */
    take({ from, ...session }: HistoryPart): CachedWindow | undefined {
      const key = keyOf(session)
      const window = windows.get(key)
      drop(key)
      return window?.from === from ? window : undefined
    },

    keep({ from, ...session }: HistoryPart, window: CachedWindow): void {
      const { messages, characters, checkpointId } = window
      if (messages.length < minMessages || checkpointId === undefined) return
      const key = keyOf(session)
      const ownSize = 2 * characters + messages.length * messageSize
      drop(key)
      windows.set(key, { ...window, from, size: ownSize, isOld: false })
      size += ownSize
      for (const oldest of windows.keys()) {
        if (size <= maxSize) break
        drop(oldest)
      }
      timer ??= setTimeout(sweep, sweepMs).unref()
    },

    ended(session: Session, { requestId, fence }: CachedWindow['run'], checkpointId: string): void {
      const window = windows.get(keyOf(session))
      if (window?.run.requestId === requestId && window.run.fence === fence) window.checkpointId = checkpointId
    },
  }
}

function keyOf({ tenant, session }: Session): string {
  return `${session} ${tenant}`
}
