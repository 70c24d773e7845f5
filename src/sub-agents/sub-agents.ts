import type { Owner } from '../access/owner.ts'
import type { Acting } from '../audit/acts.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import { invalid, ServiceError } from '../errors.ts'
import type { Bus } from '../replicas/bus.ts'
import { createListCache } from './list-cache.ts'
import { type NewSubAgent, type SubAgent, type SubAgentStore, isChoice, isInitializing } from './sub-agent-store.ts'
import { Interrupted } from '../agent/approval.ts'

interface SubAgentsDependencies extends Omit<SubAgentWorkDependencies, 'heartbeatMs'> {
  agent: CurrentAgent
  /** True when other processes use the same store. */
  isShared: boolean
  bus: Bus
  newId(): string
}

type SubAgentStatus = 'initializing' | 'ready' | 'busy' | 'error'

/** The life cycle of callers' sub-agents. */
export interface SubAgents {
  /** Lists sub-agents, oldest first; from memory when the store is not shared. */
  list(caller: Owner): Promise<readonly SubAgent[]>
  /**
   * Like `list`, for a run: with a shared store an empty list is cached for a moment, because most callers have no
   * sub-agents.
   */
  listForRun(caller: Owner): Promise<readonly SubAgent[]> | readonly SubAgent[]
  /** Throws `not_found`, also for another caller's sub-agent. */
  find(caller: Owner, id: string): Promise<SubAgent>
  /** Throws `validation` for an unknown tool, `sub_agent_exists`, `sub_agent_limit`. `acting`: a caller, where no run acts. */
  create(caller: Owner, draft: NewSubAgent, madeBy: SubAgent['madeBy'], acting?: Acting): Promise<SubAgent>
  /** Removes a sub-agent and cancels its work; throws `not_found`. */
  terminate(caller: Owner, id: string, acting?: Acting): Promise<void>
  statusOf(subAgent: SubAgent): SubAgentStatus
  /** Runs work as a sub-agent, see `SubAgentWork`. */
  workAs<T>(caller: Owner, subAgent: SubAgent, stopped: AbortSignal, work: (terminated: AbortSignal) => Promise<T>): Promise<T>
}

/**
 * Heartbeat of busy sub-agents: also checks whether another process has terminated them, because messages may get lost.
 */
const heartbeatMs = 2000
/** Lifetime of a cached empty list: another process may add a sub-agent meanwhile. */
const emptyListMs = 3000

export function createSubAgents(deps: SubAgentsDependencies): SubAgents {
  const { agent, isShared, bus, now, newId } = deps
  // Changes by other processes arrive over the bus, and by expiry of the cache, because messages may get lost.
  const cache = createListCache((caller) => deps.store.list(caller), isShared ? { isCacheable: isEmpty, maxAgeMs: emptyListMs, now } : {})
  const list = isShared ? deps.store.list : async (caller: Owner) => cache.get(caller)
  bus.subscribe('sub_agent', cache.invalidate)
  const store = forgetting(deps.store, cache.invalidate)
  const work = createSubAgentWork({ ...deps, store, heartbeatMs: isShared ? heartbeatMs : undefined })
  bus.subscribe('terminated', ({ id }) => work.cancel(id))

  async function find(caller: Owner, id: string): Promise<SubAgent> {
    const subAgent = (await list(caller)).find((entry) => entry.id === id)
    if (!subAgent) throw notFound(id)
    return subAgent
  }

  async function create(caller: Owner, draft: NewSubAgent, madeBy: SubAgent['madeBy'], acting?: Acting): Promise<SubAgent> {
    const { config, tools } = agent()
    const listings = tools.list()
    for (const [at, name] of draft.tools.entries()) {
      if (!isChoice(name, listings, config)) throw invalid(['body', 'tools', at], `there is no tool ${name}`)
    }
    const time = now()
    const distinct = { ...draft, tools: [...new Set(draft.tools)] }
    const subAgent: SubAgent = { ...distinct, id: newId(), madeBy, hasFailed: false, isBusy: false, createdAt: time, lastActive: time }
    const { max } = config.sub_agents
    const added = await store.insert(caller, subAgent, max, acting)
    if (added === 'exists') throw new ServiceError('sub_agent_exists', `There is a sub-agent ${draft.name} already.`)
    if (added === 'full') throw new ServiceError('sub_agent_limit', `There are ${max} sub-agents already; no more are allowed.`)
    bus.publish('sub_agent', { tenant: caller.tenant, owner: caller.owner })
    return subAgent
  }

  async function terminate(caller: Owner, id: string, acting?: Acting): Promise<void> {
    if (!(await store.remove(caller, id, acting))) throw notFound(id)
    work.cancel(id)
    bus.publish('terminated', { id })
  }

  function statusOf({ id, tools, isBusy, hasFailed }: SubAgent): SubAgentStatus {
    if (work.isBusy(id) || isBusy) return 'busy'
    if (isInitializing(tools, agent().tools.list())) return 'initializing'
    return hasFailed ? 'error' : 'ready'
  }

  return { list, listForRun: cache.get, find, create, terminate, statusOf, workAs: work.as }
}

function isEmpty(list: readonly unknown[]): boolean {
  return list.length === 0
}

/** Wraps the store so that each change of an owner's list invalidates the cache. */
function forgetting(store: SubAgentStore, forget: (caller: Owner) => void): SubAgentStore {
  const after = async <T>(caller: Owner, change: Promise<T>): Promise<T> => change.finally(() => forget(caller))
  return {
    list: store.list,
    insert: (caller, ...rest) => after(caller, store.insert(caller, ...rest)),
    remove: (caller, ...rest) => after(caller, store.remove(caller, ...rest)),
    atWork: (caller, id, mark) => after(caller, store.atWork(caller, id, mark)),
    ended: (caller, id, mark) => after(caller, store.ended(caller, id, mark)),
  }
}

function notFound(id: string): ServiceError {
  return new ServiceError('not_found', `There is no sub-agent ${id}.`)
}

interface SubAgentWorkDependencies {
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
interface SubAgentWork {
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

export function createSubAgentWork({ store, holder, heartbeatMs, now, onFault }: SubAgentWorkDependencies): SubAgentWork {
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
