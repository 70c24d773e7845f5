import type { Owner } from '../access/owner.ts'
import { Interrupted } from '../agent/approval.ts'
import { ServiceError } from '../errors.ts'
import type { SubAgent, SubAgentStore } from './sub-agent-store.ts'

export interface WorkDependencies {
  store: SubAgentStore
  /** Id of this process. */
  holder: string
  /** Interval of the busy mark and of the check for termination; undefined when the store is not shared. */
  heartbeatMs: number | undefined
  now(): number
  /** Reports an internal error; the work continues. */
  onFault(error: unknown): void
}

/** The running work of sub-agents in this process. */
export interface Work {
  isBusy(id: string): boolean
  /**
   * Runs `work` as a sub-agent, with a signal that is aborted on termination. The outcome sets the sub-agent's status:
   * an error is a failure, unless `stopped` was aborted or calls wait for approval. Throws `not_found` when the
   * sub-agent no longer exists.
   */
  as<T>(caller: Owner, subAgent: SubAgent, stopped: AbortSignal, work: (terminated: AbortSignal) => Promise<T>): Promise<T>
  /** Cancels the sub-agent's work in this process. */
  cancel(id: string): void
}

export function createWork({ store, holder, heartbeatMs, now, onFault }: WorkDependencies): Work {
  const running = new Map<string, Set<AbortController>>()
  const isBusy = (id: string) => running.has(id)
  const mark = (isAtWork: boolean) => ({ holder, now: now(), busyForMs: isAtWork && heartbeatMs ? 3 * heartbeatMs : 0 })

  function enter(id: string, controller: AbortController): void {
    running.set(id, (running.get(id) ?? new Set()).add(controller))
  }

  function leave(id: string, controller: AbortController): void {
    const controllers = running.get(id)
    controllers?.delete(controller)
    if (controllers?.size === 0) running.delete(id)
  }

  /** Repeats the busy mark. Another process may terminate the sub-agent but cannot reach work in this process. */
  function startHeartbeat(caller: Owner, { id }: SubAgent): NodeJS.Timeout | undefined {
    if (heartbeatMs === undefined) return undefined
    const renew = () => store.atWork(caller, id, mark(true)).then((isThere) => isThere || cancel(id), onFault)
    return setInterval(() => void renew(), heartbeatMs).unref()
  }

  async function end(caller: Owner, { id }: SubAgent, hasFailed: boolean | undefined): Promise<void> {
    await store.ended(caller, id, { ...mark(isBusy(id)), hasFailed }).catch(onFault)
  }

  async function as<T>(caller: Owner, subAgent: SubAgent, stopped: AbortSignal, work: (terminated: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController()
    enter(subAgent.id, controller)
    const heartbeatTimer = startHeartbeat(caller, subAgent)
    let hasFailed: boolean | undefined
    try {
      if (!(await store.atWork(caller, subAgent.id, mark(true)))) throw gone(subAgent)
      const result = await work(controller.signal)
      hasFailed = false
      return result
    } catch (error) {
      const isFailure = !(error instanceof Interrupted) && !stopped.aborted && !controller.signal.aborted
      if (isFailure) hasFailed = true
      throw error
    } finally {
      clearInterval(heartbeatTimer)
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
