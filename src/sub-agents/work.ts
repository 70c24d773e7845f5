import type { Owner } from '../access/owner.ts'
import { Interrupted } from '../agent/approval.ts'
import { ServiceError } from '../errors.ts'
import type { SubAgent, SubAgentStore } from './sub-agent-store.ts'

export interface WorkDependencies {
  store: SubAgentStore
  /** Of this process. */
  holder: string
  /** How often others are told that it is at work, and it is looked for; undefined where nobody else has the store. */
  beatMs: number | undefined
  now(): number
  /** A fault of ours; the work goes on. */
  onFault(error: unknown): void
}

/** What sub-agents are doing in this process. */
export interface Work {
  isBusy(id: string): boolean
  /**
   * Does something as a sub-agent, with a signal that is aborted when it is terminated. How it ends is its status from then on: what is
   * thrown is a failure, unless `stopped` was aborted or calls of it wait for approval. Throws `not_found` when it is not there any more.
   */
  as<T>(caller: Owner, subAgent: SubAgent, stopped: AbortSignal, work: (terminated: AbortSignal) => Promise<T>): Promise<T>
  /** Cancels what it does here. */
  cancel(id: string): void
}

export function createWork({ store, holder, beatMs, now, onFault }: WorkDependencies): Work {
  const running = new Map<string, Set<AbortController>>()
  const isBusy = (id: string) => running.has(id)
  const by = (isAtWork: boolean) => ({ holder, now: now(), busyForMs: isAtWork && beatMs ? 3 * beatMs : 0 })

  function enter(id: string, controller: AbortController): void {
    running.set(id, (running.get(id) ?? new Set()).add(controller))
  }

  function leave(id: string, controller: AbortController): void {
    const own = running.get(id)
    own?.delete(controller)
    if (own?.size === 0) running.delete(id)
  }

  /** It may be terminated in another process, which can't reach what runs here. */
  function beat(caller: Owner, { id }: SubAgent): NodeJS.Timeout | undefined {
    if (beatMs === undefined) return undefined
    const look = () => store.atWork(caller, id, by(true)).then((isThere) => isThere || cancel(id), onFault)
    return setInterval(() => void look(), beatMs).unref()
  }

  async function end(caller: Owner, { id }: SubAgent, hasFailed: boolean | undefined): Promise<void> {
    await store.ended(caller, id, { ...by(isBusy(id)), hasFailed }).catch(onFault)
  }

  async function as<T>(caller: Owner, subAgent: SubAgent, stopped: AbortSignal, work: (terminated: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController()
    enter(subAgent.id, controller)
    const beating = beat(caller, subAgent)
    let hasFailed: boolean | undefined
    try {
      if (!(await store.atWork(caller, subAgent.id, by(true)))) throw gone(subAgent)
      const result = await work(controller.signal)
      hasFailed = false
      return result
    } catch (error) {
      const isFailure = !(error instanceof Interrupted) && !stopped.aborted && !controller.signal.aborted
      if (isFailure) hasFailed = true
      throw error
    } finally {
      clearInterval(beating)
      leave(subAgent.id, controller)
      if (!controller.signal.aborted) await end(caller, subAgent, hasFailed)
    }
  }

  function cancel(id: string): void {
    for (const controller of running.get(id) ?? []) controller.abort()
  }

  return { isBusy, as, cancel }
}

function gone({ name }: SubAgent): ServiceError {
  return new ServiceError('not_found', `The sub-agent ${name} is not there any more.`)
}
