import { callerKey, type Owner } from '../../access/owner.ts'
import { FairQueue, shareOf } from '../../processes/fair-queue.ts'
import { InterpreterLost, type Interpreter } from './interpreter.ts'
import { SpareProcess } from './spare-process.ts'

/** The process of a conversation, with everything that earlier calls left in the process. */
export interface Workspace {
  readonly interpreter: Interpreter
  /** Files loaded into the process, by path. */
  readonly loadedFiles: Map<string, LoadedFile>
}

export interface LoadedFile {
  /** Changes with the content. */
  version: string
  bytes: number
  /** The name with links resolved, relative to the files root. */
  canonical: string
}

export interface LeaseRequest {
  /** Key of the conversation: calls with the same key take turns and share a process. */
  conversation: string
  caller: Owner
  signal: AbortSignal
  /** Maximum milliseconds to wait for a process. */
  acquireTimeoutMs: number
  /** False to replace the process before the call. */
  mayReuse(workspace: Workspace): boolean
}

/** The exclusive use of a process during a call. */
export interface Lease {
  readonly workspace: Workspace
  /** No code has run in the process yet. */
  readonly isFresh: boolean
  /** An earlier process of the conversation has ended since the last call, with its variables. */
  readonly hasForgotten: boolean
}

export interface PoolOptions {
  start(): Promise<Interpreter>
  /** Maximum number of processes, the spare process included. */
  max: number
  /** Milliseconds until an idle process is evicted. */
  keepMs: number
  /** Milliseconds until an unused spare process ends. */
  spareMs?: number
  /** Milliseconds after a spare process was taken until the next one is started. */
  spareDelayMs?: number
}

/** A process of the pool. A slot belongs to the same conversation until the slot is evicted. */
interface Slot {
  readonly conversation: string
  readonly caller: Owner
  state: SlotState
  /** Code has run in the process. */
  hasRun: boolean
}

type SlotState =
  | { name: 'starting' }
  | { name: 'busy'; workspace: Workspace }
  | { name: 'idle'; workspace: Workspace; since: number; eviction?: NodeJS.Timeout }
  | { name: 'evicted' }

interface Waiter extends LeaseRequest {
  resolve(lease: { slot: Slot; workspace: Workspace }): void
  reject(error: unknown): void
}

const hourMs = 3_600_000
/** Maximum number of evicted conversations to remember. */
const maxForgotten = 10_000

/**
 * Python processes, a separate process for each conversation. Calls of a conversation take turns. A caller uses at most half of the processes
 * at once, and callers take turns.
 */
export class PythonPool {
  private readonly max: number
  private readonly keepMs: number
  private readonly share: number
  private readonly slots = new Map<string, Slot>()
  private readonly waiters = new FairQueue<Waiter>()
  private readonly spare: SpareProcess
  /** Conversations whose process was evicted after code had run in the process. */
  private readonly forgotten = new Set<string>()
  /** Ending processes still use memory. */
  private readonly ending = new Set<Promise<void>>()
  private isClosed = false

  constructor({ start, max, keepMs, spareMs = hourMs, spareDelayMs = 500 }: PoolOptions) {
    this.max = max
    this.keepMs = keepMs
    this.share = shareOf(max)
    const mayStart = () => this.slots.size + this.ending.size < max
    this.spare = new SpareProcess({ start, mayStart, keepMs: spareMs, delayMs: spareDelayMs })
  }

  /** Starts the spare process. */
  prepare(): void {
    this.spare.prepare()
  }

  /** Runs `work` with the process of a conversation. Rejects with an `Error` for a model when no process is free in time. */
  async use<T>(request: LeaseRequest, work: (lease: Lease) => Promise<T>): Promise<T> {
    if (this.isClosed) throw new Error('Python is closed.')
    request.signal.throwIfAborted()
    const { slot, workspace } = await this.acquire(request)
    const isFresh = !slot.hasRun
    slot.hasRun = true
    this.spare.prolong()
    try {
      return await work({ workspace, isFresh, hasForgotten: this.forgotten.delete(request.conversation) })
    } catch (error) {
      // The failed call itself reports the loss, unless its caller is gone, so the next call need not report the loss again.
      if (error instanceof InterpreterLost && !request.signal.aborted) slot.hasRun = false
      throw error
    } finally {
      this.release(slot, workspace)
    }
  }

  async close(): Promise<void> {
    this.isClosed = true
    for (const waiter of this.waiters.clear()) waiter.reject(new Error('Python is closed.'))
    for (const slot of this.slots.values()) this.evict(slot)
    await Promise.all([...this.ending, this.spare.close()])
  }

  private acquire(request: LeaseRequest): Promise<{ slot: Slot; workspace: Workspace }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ slot: Slot; workspace: Workspace }>()
    // A waiter leaves the queue in the same turn in which it fails: no slot may be leased to a waiter that is gone.
    const fail = (error: unknown) => {
      this.waiters.remove(waiter)
      reject(error)
    }
    const waiter: Waiter = { ...request, resolve, reject: fail }
    const onAbort = () => fail(request.signal.reason)
    const timeout = setTimeout(() => fail(new Error(this.toTimeoutText(request))), request.acquireTimeoutMs)
    request.signal.addEventListener('abort', onAbort, { once: true })
    try {
      this.waiters.add(waiter)
      this.advance()
    } catch (error) {
      fail(error)
    }
    return promise.finally(() => {
      clearTimeout(timeout)
      request.signal.removeEventListener('abort', onAbort)
    })
  }

  private release(slot: Slot, workspace: Workspace): void {
    if (this.isClosed) this.evict(slot)
    else this.becomeIdle(slot, workspace)
    this.advance()
  }

  /** Serves as many waiters as possible. */
  private advance(): void {
    for (const waiter of this.waiters) this.serve(waiter)
  }

  private serve(waiter: Waiter): void {
    const slot = this.slots.get(waiter.conversation)
    if (slot?.state.name === 'starting' || slot?.state.name === 'busy' || this.isAtShare(waiter.caller)) return
    if (slot?.state.name === 'idle') {
      const { workspace } = slot.state
      if (workspace.interpreter.isAlive && waiter.mayReuse(workspace)) return this.lease(waiter, slot, workspace)
      this.evict(slot)
    }
    if (this.spare.exists || this.slots.size + this.ending.size < this.max) return void this.open(waiter)
    // The end of the evicted process calls `advance` again.
    const idle = this.findIdle()
    if (idle && this.ending.size === 0) this.evict(idle)
  }

  private lease(waiter: Waiter, slot: Slot, workspace: Workspace): void {
    this.waiters.serve(waiter)
    if (slot.state.name === 'idle') clearTimeout(slot.state.eviction)
    slot.state = { name: 'busy', workspace }
    waiter.resolve({ slot, workspace })
  }

  /** Opens a slot for the conversation of a waiter. The slot is idle when its process has started, and `advance` leases the slot. */
  private async open(waiter: Waiter): Promise<void> {
    const { conversation, caller } = waiter
    const slot: Slot = { conversation, caller, state: { name: 'starting' }, hasRun: false }
    this.slots.set(conversation, slot)
    try {
      const interpreter = await this.spare.take()
      if (this.isClosed) return this.end(interpreter)
      void interpreter.gone.then(() => slot.state.name === 'idle' && this.evict(slot))
      this.becomeIdle(slot, { interpreter, loadedFiles: new Map() })
    } catch (error) {
      this.slots.delete(conversation)
      waiter.reject(new Error('Python cannot be started at the moment.', { cause: error }))
    }
    this.advance()
  }

  private becomeIdle(slot: Slot, workspace: Workspace): void {
    slot.state = { name: 'idle', workspace, since: Date.now() }
    if (!workspace.interpreter.isAlive || (this.keepMs === 0 && slot.hasRun)) return this.evict(slot)
    slot.state.eviction = setTimeout(() => this.evict(slot), Math.max(this.keepMs, 1_000)).unref()
  }

  /** Ends the process of a slot. The next call of the conversation reports the loss of the variables. */
  private evict(slot: Slot): void {
    const { state } = slot
    if (state.name === 'evicted') return
    slot.state = { name: 'evicted' }
    this.slots.delete(slot.conversation)
    if (state.name === 'starting') return
    if (state.name === 'idle') clearTimeout(state.eviction)
    if (slot.hasRun) this.remember(slot.conversation)
    this.end(state.workspace.interpreter)
  }

  private end(interpreter: Interpreter): void {
    const end: Promise<void> = interpreter.end().finally(() => {
      this.ending.delete(end)
      this.advance()
    })
    this.ending.add(end)
  }

  private remember(conversation: string): void {
    this.forgotten.add(conversation)
    for (const oldest of this.forgotten) {
      if (this.forgotten.size <= maxForgotten) break
      this.forgotten.delete(oldest)
    }
  }

  /** The idle slot to evict: of the caller with the most slots the slot that was used longest ago. */
  private findIdle(): Slot | undefined {
    const idle = [...this.slots.values()].flatMap((slot) => (slot.state.name === 'idle' ? [{ slot, since: slot.state.since }] : []))
    const count = ({ slot }: { slot: Slot }) => this.slotsOf(slot.caller).length
    return idle.toSorted((a, b) => count(b) - count(a) || a.since - b.since)[0]?.slot
  }

  private slotsOf(caller: Owner): Slot[] {
    const key = callerKey(caller)
    return [...this.slots.values()].filter((slot) => callerKey(slot.caller) === key)
  }

  private isAtShare(caller: Owner): boolean {
    const active = this.slotsOf(caller).filter(({ state }) => state.name === 'starting' || state.name === 'busy')
    return active.length >= this.share
  }

  private toTimeoutText({ conversation, caller }: LeaseRequest): string {
    const { max, share } = this
    const slot = this.slots.get(conversation)
    if (!slot && this.isAtShare(caller))
      return `Your other conversations have ${share} ${share === 1 ? 'call' : 'calls'} of Python running; no more run for one caller at a time. Try again later.`
    if (slot?.state.name === 'starting') return 'Python did not start in time. Try again.'
    if (slot) return 'Python is still busy with an earlier call of this conversation.'
    return `All ${max} places for Python are taken by calls of other conversations. Try again later.`
  }
}
