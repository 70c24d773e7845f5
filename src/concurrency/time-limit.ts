/** The reason of a signal whose work has ended. Without a reason, each abort would make an error with a stack, for 12 microseconds. */
const workEnded = new Error('The work has ended.')

/**
 * A signal that is aborted with another signal, after a time, and when the work ends. `AbortSignal.any` and `AbortSignal.timeout` have the same
 * effect, but stay in memory until the time is over.
 */
export class TimeLimit {
  /** True when the time was over before the work ended. */
  isOver = false
  readonly signal: AbortSignal
  private readonly controller = new AbortController()
  private readonly outer: AbortSignal
  private readonly timer: NodeJS.Timeout | undefined
  private leaveWork: ((reason: unknown) => void) | undefined

  /** Without `ms`, the time has no limit. */
  constructor(outer: AbortSignal, ms?: number) {
    this.signal = this.controller.signal
    this.outer = outer
    outer.addEventListener('abort', this.follow)
    if (ms !== undefined) this.timer = setTimeout(this.expire, ms).unref()
    if (outer.aborted) this.follow()
  }

  /**
   * Settles as `work` does, or rejects with the reason of the signal once that is aborted, even when `work` ignores the signal. A later
   * failure of `work` is ignored. Without a listener of the signal, which takes a KB.
   */
  race<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.leaveWork = reject
      if (this.signal.aborted) reject(this.signal.reason)
      work.then(resolve, reject)
    })
  }

  /** The work has ended. Releases the timer and the other signal, and aborts what is left of the work. */
  end(): void {
    clearTimeout(this.timer)
    this.outer.removeEventListener('abort', this.follow)
    this.controller.abort(workEnded)
  }

  private abort(reason: unknown): void {
    this.controller.abort(reason)
    this.leaveWork?.(reason)
  }

  private readonly follow = (): void => this.abort(this.outer.reason)

  private readonly expire = (): void => {
    this.isOver = true
    this.abort(new DOMException('The time is over.', 'TimeoutError'))
  }
}
