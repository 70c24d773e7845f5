import type { Interpreter } from './interpreter.ts'

export interface SpareOptions {
  start(): Promise<Interpreter>
  /** True while the pool has a free slot for a spare process. */
  mayStart(): boolean
  /** Milliseconds until an unused spare process ends. */
  keepMs: number
  /** Milliseconds after a process was taken until the next one is started. */
  delayMs: number
}

/** A process started ahead of the next conversation, which then need not wait for the start. */
export class SpareProcess {
  private readonly options: SpareOptions
  private process: Promise<Interpreter> | undefined
  private startTimer: NodeJS.Timeout | undefined
  private endTimer: NodeJS.Timeout | undefined
  private isClosed = false

  constructor(options: SpareOptions) {
    this.options = options
  }

  get exists(): boolean {
    return this.process !== undefined
  }

  prepare(): void {
    if (this.isClosed || this.process || !this.options.mayStart()) return
    const process = this.options.start()
    this.process = process
    process.catch(() => this.process === process && (this.process = undefined))
    this.prolong()
  }

  /** The spare process, or a new one. Another spare process is started soon after. */
  async take(): Promise<Interpreter> {
    const spare = this.remove()
    const ready = await spare?.catch(() => undefined)
    const interpreter = ready?.isAlive ? ready : await this.options.start()
    if (!this.isClosed) {
      clearTimeout(this.startTimer)
      this.startTimer = setTimeout(() => this.prepare(), this.options.delayMs).unref()
    }
    return interpreter
  }

  /** Keeps the spare process for another `keepMs`. */
  prolong(): void {
    clearTimeout(this.endTimer)
    this.endTimer = setTimeout(() => void this.end(), this.options.keepMs).unref()
  }

  async close(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.startTimer)
    clearTimeout(this.endTimer)
    await this.end()
  }

  private async end(): Promise<void> {
    await this.remove()
      ?.then((interpreter) => interpreter.end())
      .catch(() => {})
  }

  private remove(): Promise<Interpreter> | undefined {
    const { process } = this
    this.process = undefined
    return process
  }
}
