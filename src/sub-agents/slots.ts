/** The place of one sub-agent that works. */
export interface Slot {
  isHeld: boolean
  /** Those that it has given work to, and waits for. */
  children: number
}

/**
 * Bounds how many sub-agents work at the same time in one run. One that waits for others of its own does not work: the first of them
 * has its place meanwhile, and the last hands it back, so that they can never wait for each other.
 */
export class Slots {
  private free: number
  private readonly waiting = new Set<() => void>()

  constructor(count: number) {
    this.free = count
  }

  /** Rejects when the signal is aborted before there is a place. */
  async use<T>(parent: Slot | undefined, signal: AbortSignal, work: (slot: Slot) => Promise<T>): Promise<T> {
    const slot: Slot = { isHeld: false, children: 0 }
    if (parent) parent.children++
    try {
      if (parent?.isHeld) parent.isHeld = false
      else await this.take(signal)
      slot.isHeld = true
      return await work(slot)
    } finally {
      await this.leave(slot, parent, signal)
    }
  }

  private async leave(slot: Slot, parent: Slot | undefined, signal: AbortSignal): Promise<void> {
    if (parent && --parent.children === 0 && !parent.isHeld) {
      // It goes on to work; where it was stopped it needs no place for that.
      parent.isHeld =
        slot.isHeld ||
        (await this.take(signal).then(
          () => true,
          () => false,
        ))
    } else if (slot.isHeld) this.release()
    slot.isHeld = false
  }

  private async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.free > 0) {
      this.free--
      return
    }
    await new Promise<void>((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = () => {
        this.waiting.delete(enter)
        reject(signal.reason as Error)
      }
      this.waiting.add(enter)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  private release(): void {
    const [next] = this.waiting
    if (!next) this.free++
    else {
      this.waiting.delete(next)
      next()
    }
  }
}
