import { callerKey, type Owner } from '../access/owner.ts'
import { FairQueue, Leases, type Waiting } from './fair-pool.ts'

/** A process of a pool. */
export interface PooledProcess {
  readonly isAlive: boolean
  /** Resolves when the process has ended for any reason. */
  readonly gone: Promise<unknown>
  end(): Promise<void>
}

/** What waits for a process: its caller has no more room, another call of the conversation, a process that starts, or any process. */
export type Obstacle = 'share' | 'conversation' | 'start' | 'process'

export interface LeaseRequest<P> {
  caller: Owner
  signal: AbortSignal
  /** Key of the conversation, for a pool with this affinity. */
  conversation?: string
  /** Maximum milliseconds to wait for a process. Default: no limit. */
  maxWaitMs?: number
  /** False to replace the process before the call. */
  mayReuse?(process: P): boolean
}

/** The use of a process during a call. */
export interface Lease<P> {
  readonly process: P
  /** Gives later calls another process, and ends this process when its calls have ended. */
  retire(): void
}

export interface PoolOptions<P> {
  /** Resolves when the process is ready. The signal is aborted when the pool closes. */
  start(closing: AbortSignal): Promise<P>
  /**
   * Which calls may use the same process: all calls, the calls of a tenant, or the calls of a conversation, which then take turns. State that
   * a call leaves behind (a changed prototype, a variable) never reaches another tenant or conversation.
   */
  affinity: 'none' | 'tenant' | 'conversation'
  /** Maximum number of processes. The spare process of a tenant pool is not counted. A caller uses at most half of the processes at once. */
  max: number
  /** Maximum number of calls that use a process at once. Default: 1. */
  callsAtOnce?: number
  /** Number of calls after which a process is replaced. Default: never. */
  callsPerProcess?: number
  /** Milliseconds without a call after which a process is ended. Default: never. With 0, each call has a process of its own. */
  idleMs?: number
  /** Milliseconds until an unused spare process is ended. Default: `idleMs`. */
  spareMs?: number
  /** Milliseconds after a conversation took the spare process until the next one is started. */
  spareDelayMs?: number
  closedText: string
  /** The error of a call that has waited for `maxWaitMs`. */
  timeoutError?(request: LeaseRequest<P>, obstacle: Obstacle): Error
  /** Called when the pool gives up a process, which is then ended. */
  onDrop?(process: P): void
}

/** A process, or one that is starting. */
interface Slot<P> {
  /** Undefined while the process starts. */
  process?: P
  /** Tenant or conversation of the calls so far. Undefined for a process without calls. */
  key?: string
  /** The last caller. */
  caller?: Owner
  /** Number of current calls. */
  calls: number
  allCalls: number
  idleTimer?: NodeJS.Timeout | undefined
}

type Call<P> = Waiting<LeaseRequest<P>, Slot<P>>

/** Milliseconds for which a call waits for a process of its own tenant before a further process is started for the tenant. */
const ownTenantWaitMs = 100

/**
 * Pool of processes that start on demand and end when idle. Callers take turns. A call that waits gets a process with its own key, or a process
 * without calls so far, or the place of the process that has been idle longest.
 *
 * A spare process without calls is kept ready, so that a new conversation, or a change of tenants, does not wait for a start.
 */
export class Pool<P extends PooledProcess> {
  private readonly options: PoolOptions<P>
  private readonly queue = new FairQueue<LeaseRequest<P>, Slot<P>>()
  private readonly leases: Leases
  /** Least recently used process first. */
  private readonly slots = new Set<Slot<P>>()
  private readonly starting = new Set<Promise<void>>()
  /** Ending processes still use memory. */
  private readonly ending = new Set<Promise<void>>()
  private readonly closing = new AbortController()
  private lastKey: string | undefined
  private spareTimer: NodeJS.Timeout | undefined
  private retryTimer: NodeJS.Timeout | undefined

  constructor(options: PoolOptions<P>) {
    this.options = options
    this.leases = new Leases(options.max * (options.callsAtOnce ?? 1))
  }

  /** Starts the spare process. */
  prepare(): void {
    const isExtra = this.options.affinity === 'tenant'
    if (!this.closing.signal.aborted && !this.slotsWith(undefined).length && (isExtra || this.hasRoom())) this.start()
  }

  /** Runs `work` with a process. Rejects with `PoolBusy` or the error of `timeoutError` when no process is free, with the reason of the signal, or when no process starts. */
  async use<T>(request: LeaseRequest<P>, work: (lease: Lease<P>) => Promise<T>): Promise<T> {
    if (this.closing.signal.aborted) throw new Error(this.options.closedText)
    const slot = await this.acquire(request)
    try {
      return await work({ process: slot.process!, retire: () => this.giveUp(slot) })
    } finally {
      this.release(slot, request.caller)
    }
  }

  /** Ends all processes, with the calls that use a process. Later calls start new processes. */
  async clear(): Promise<void> {
    for (const slot of this.slots) {
      this.drop(slot)
      if (slot.process && slot.calls > 0) this.end(slot.process)
    }
    await Promise.all(this.ending)
  }

  /** Ends all processes and rejects waiting and later calls. */
  async close(): Promise<void> {
    this.closing.abort()
    clearTimeout(this.spareTimer)
    clearTimeout(this.retryTimer)
    this.queue.rejectAll(new Error(this.options.closedText))
    await this.clear()
    await Promise.all(this.starting)
    await Promise.all(this.ending)
  }

  private acquire(request: LeaseRequest<P>): Promise<Slot<P>> {
    const { timeoutError } = this.options
    const granted = this.queue.wait(request, {
      maxWaitMs: request.maxWaitMs,
      ...(timeoutError && { timeoutError: () => timeoutError(request, this.obstacleOf(request)) }),
    })
    this.advance()
    return granted
  }

  private release(slot: Slot<P>, caller: Owner): void {
    const { callsPerProcess = Infinity, idleMs } = this.options
    this.leases.remove(caller)
    slot.calls--
    if (this.slots.has(slot)) {
      if (!slot.process!.isAlive || slot.allCalls >= callsPerProcess || idleMs === 0) this.drop(slot)
      else this.rest(slot)
    } else if (slot.calls === 0) this.end(slot.process!)
    this.advance()
  }

  /** Serves as many waiting calls as possible. */
  private advance(): void {
    if (this.closing.signal.aborted) return
    const starts = this.countStarting()
    for (const call of this.queue) this.serve(call, starts)
  }

  private countStarting(): Starts {
    return { free: [...this.slots].filter(({ process }) => !process).length, claims: new Map() }
  }

  private serve(call: Call<P>, starts: Starts): void {
    const { request, since } = call
    if (this.findObstacle(request, starts)) return
    const slot = this.findOwn(request) ?? this.findUnused()
    if (slot) return this.lease(slot, call)
    if (starts.free > 0) starts.free--
    else if (this.isWorthWaiting(request, since)) return
    else if (this.hasRoom()) this.start()
    else return this.makeRoom()
    const key = callerKey(request.caller)
    starts.claims.set(key, (starts.claims.get(key) ?? 0) + 1)
  }

  private findObstacle(request: LeaseRequest<P>, starts: Starts): Obstacle | undefined {
    const isTaken = this.options.affinity === 'conversation' && this.slotsWith(this.keyOf(request)).some(({ calls }) => calls > 0)
    if (isTaken) return 'conversation'
    const isAtShare = this.leases.isAtShare(request.caller, starts.claims.get(callerKey(request.caller)))
    return isAtShare ? 'share' : undefined
  }

  /** What a call waits for, for the error of a call that has waited too long. */
  private obstacleOf(request: LeaseRequest<P>): Obstacle {
    const starts = this.countStarting()
    for (const call of this.queue) {
      const obstacle = this.findObstacle(call.request, starts)
      if (call.request === request) return obstacle ?? (starts.free > 0 ? 'start' : 'process')
      if (!obstacle && starts.free > 0) starts.free--
    }
    return 'process'
  }

  private findOwn(request: LeaseRequest<P>): Slot<P> | undefined {
    const { callsAtOnce = 1 } = this.options
    for (const slot of this.slotsWith(this.keyOf(request))) {
      if (slot.calls >= callsAtOnce) continue
      if (slot.process?.isAlive && (request.mayReuse?.(slot.process) ?? true)) return slot
      this.drop(slot)
    }
    return undefined
  }

  /** A process without calls so far, if the limit allows one more process with a key. */
  private findUnused(): Slot<P> | undefined {
    const unused = this.slotsWith(undefined).find(({ process }) => process?.isAlive)
    if (!unused || [...this.slots].filter(({ key }) => key !== undefined).length < this.options.max) return unused
    const idle = this.findIdle()
    if (!idle) return undefined
    this.drop(idle)
    return unused
  }

  private isWorthWaiting(request: LeaseRequest<P>, since: number): boolean {
    if (this.options.affinity !== 'tenant' || this.slotsWith(this.keyOf(request)).length === 0) return false
    const restMs = since + ownTenantWaitMs - performance.now()
    if (restMs <= 0) return false
    this.retryTimer ??= setTimeout(() => {
      this.retryTimer = undefined
      this.advance()
    }, restMs)
    return true
  }

  private hasRoom(): boolean {
    return this.slots.size + this.ending.size < this.options.max
  }

  /** Ends an idle process. The end of the process calls `advance` again. */
  private makeRoom(): void {
    const idle = this.ending.size === 0 ? this.findIdle() : undefined
    if (idle) this.drop(idle)
  }

  /** The idle process to end: of the tenant or caller with the most processes, the one that was used longest ago. */
  private findIdle(): Slot<P> | undefined {
    const holderOf = ({ key, caller }: Slot<P>) => (this.options.affinity === 'conversation' && caller ? callerKey(caller) : key)
    const used = [...this.slots].filter(({ key }) => key !== undefined)
    const counts = Map.groupBy(used, holderOf)
    const idle = used.filter(({ calls }) => calls === 0)
    const count = (slot: Slot<P>) => counts.get(holderOf(slot))!.length
    return idle.reduce<Slot<P> | undefined>((best, slot) => (best && count(best) >= count(slot) ? best : slot), undefined)
  }

  private start(): void {
    const slot: Slot<P> = { calls: 0, allCalls: 0 }
    this.slots.add(slot)
    const start: Promise<void> = this.fill(slot).finally(() => {
      this.starting.delete(start)
      this.advance()
    })
    this.starting.add(start)
  }

  private async fill(slot: Slot<P>): Promise<void> {
    try {
      const process = await this.options.start(this.closing.signal)
      if (!this.slots.has(slot)) return this.end(process)
      slot.process = process
      void process.gone.then(() => this.giveUp(slot))
      this.rest(slot)
    } catch (error) {
      this.slots.delete(slot)
      this.rejectUnservable(error)
    }
  }

  /** A process which cannot start would fail again: reject the calls which no other process can take. The next call starts a new process. */
  private rejectUnservable(error: unknown): void {
    const starts = this.countStarting()
    const hasUnused = this.slotsWith(undefined).some(({ process }) => process)
    for (const call of this.queue) {
      if (hasUnused || this.slotsWith(this.keyOf(call.request)).length > 0 || starts.free-- > 0) continue
      call.reject(error)
    }
  }

  private lease(slot: Slot<P>, call: Call<P>): void {
    const { affinity, spareDelayMs } = this.options
    const { caller } = call.request
    const isNew = slot.key === undefined
    const key = this.keyOf(call.request)
    const isChange = isNew && this.lastKey !== undefined && this.lastKey !== key
    clearTimeout(slot.idleTimer)
    slot.key = this.lastKey = key
    slot.caller = caller
    slot.calls++
    slot.allCalls++
    this.slots.delete(slot)
    this.slots.add(slot)
    this.leases.add(caller)
    this.queue.grant(call, slot)
    if (affinity === 'tenant' && isChange) this.prepare()
    if (affinity !== 'conversation') return
    for (const spare of this.slotsWith(undefined)) this.rest(spare)
    if (!isNew) return
    clearTimeout(this.spareTimer)
    this.spareTimer = setTimeout(() => this.prepare(), spareDelayMs).unref()
  }

  /** Ends the process of a slot after a while without calls. */
  private rest(slot: Slot<P>): void {
    const { idleMs, spareMs = idleMs } = this.options
    clearTimeout(slot.idleTimer)
    const restMs = slot.key === undefined ? spareMs : idleMs
    if (slot.calls > 0 || !slot.process || restMs === undefined) return
    slot.idleTimer = setTimeout(() => this.drop(slot), restMs).unref()
  }

  /** Drops a slot, whose place is free for waiting calls. */
  private giveUp(slot: Slot<P>): void {
    this.drop(slot)
    this.advance()
  }

  /** Gives up the process of a slot, which ends when its calls have ended. */
  private drop(slot: Slot<P>): void {
    if (!this.slots.delete(slot)) return
    clearTimeout(slot.idleTimer)
    const { process } = slot
    if (!process) return
    this.options.onDrop?.(process)
    if (slot.calls === 0) this.end(process)
  }

  private end(process: P): void {
    const end: Promise<void> = process.end().finally(() => {
      this.ending.delete(end)
      this.advance()
    })
    this.ending.add(end)
  }

  private keyOf({ caller, conversation = '' }: LeaseRequest<P>): string {
    const { affinity } = this.options
    return affinity === 'tenant' ? caller.tenant : affinity === 'conversation' ? conversation : ''
  }

  private slotsWith(key: string | undefined): Slot<P>[] {
    return [...this.slots].filter((slot) => slot.key === key)
  }
}

/** Processes that are starting, while waiting calls are served. */
interface Starts {
  /** Number of starting processes that no waiting call has claimed. */
  free: number
  /** Number of claimed starts by caller. */
  claims: Map<string, number>
}
