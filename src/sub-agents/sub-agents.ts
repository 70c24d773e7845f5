import type { Owner } from '../access/owner.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import { invalid, ServiceError } from '../errors.ts'
import type { Bus } from '../replicas/bus.ts'
import { createListCache } from './list-cache.ts'
import type { NewSubAgent, SubAgent, SubAgentStore } from './sub-agent-store.ts'
import { isChoice, isInitializing } from './tool-choice.ts'
import { createWork, type WorkDependencies } from './work.ts'

export interface SubAgentsDependencies extends Omit<WorkDependencies, 'beatMs'> {
  agent: CurrentAgent
  /** Whether other processes change what the store has. */
  isShared: boolean
  bus: Bus
  newId(): string
}

export type SubAgentStatus = 'initializing' | 'ready' | 'busy' | 'error'

/** The sub-agents of callers: their life cycle. */
export interface SubAgents {
  /** Oldest first. Where nobody else has the store, from memory. */
  list(caller: Owner): Promise<readonly SubAgent[]>
  /** As `list`, for a run: that there are none is remembered for a moment also where others have the store. Most callers have none. */
  listForRun(caller: Owner): Promise<readonly SubAgent[]>
  /** Throws `not_found`, also where it is another caller's. */
  find(caller: Owner, id: string): Promise<SubAgent>
  /** Throws `validation` for an unknown tool, `sub_agent_exists`, `sub_agent_limit`. */
  create(caller: Owner, made: NewSubAgent, madeBy: SubAgent['madeBy']): Promise<SubAgent>
  /** Ends it and cancels what it does; throws `not_found`. */
  terminate(caller: Owner, id: string): Promise<void>
  statusOf(one: SubAgent): SubAgentStatus
  /** Does something as a sub-agent, see `Work`. */
  workAs<T>(caller: Owner, one: SubAgent, stopped: AbortSignal, work: (terminated: AbortSignal) => Promise<T>): Promise<T>
}

/** How often a process looks for the sub-agents that it has at work, where another may terminate them: news of it may get lost. */
const beatMs = 2000
/** How often the store is asked whether another process has given a caller without sub-agents one. */
const lookEveryMs = 3000

export function createSubAgents(deps: SubAgentsDependencies): SubAgents {
  const { agent, isShared, bus, now, newId } = deps
  // What others change is told, and looked up from time to time: news may get lost.
  const cache = createListCache((caller) => deps.store.list(caller), isShared ? { isKept: isEmpty, keptMs: lookEveryMs, now } : {})
  const list = isShared ? deps.store.list : cache.get
  bus.subscribe('sub_agent', cache.invalidate)
  const store = forgetting(deps.store, cache.invalidate)
  const work = createWork({ ...deps, store, beatMs: isShared ? beatMs : undefined })
  bus.subscribe('terminated', ({ id }) => work.cancel(id))

  async function find(caller: Owner, id: string): Promise<SubAgent> {
    const found = (await list(caller)).find((one) => one.id === id)
    if (!found) throw notFound(id)
    return found
  }

  async function create(caller: Owner, made: NewSubAgent, madeBy: SubAgent['madeBy']): Promise<SubAgent> {
    const { config, tools } = agent()
    const listings = tools.list()
    for (const [at, name] of made.tools.entries()) {
      if (!isChoice(name, listings, config)) throw invalid(['body', 'tools', at], `there is no tool ${name}`)
    }
    const time = now()
    const own = { ...made, tools: [...new Set(made.tools)] }
    const one: SubAgent = { ...own, id: newId(), madeBy, hasFailed: false, isBusy: false, createdAt: time, lastActive: time }
    const { max } = config.sub_agents
    const added = await store.insert(caller, one, max)
    if (added === 'exists') throw new ServiceError('sub_agent_exists', `There is a sub-agent ${made.name} already.`)
    if (added === 'full') throw new ServiceError('sub_agent_limit', `There are ${max} sub-agents already; no more are allowed.`)
    bus.publish('sub_agent', { tenant: caller.tenant, owner: caller.owner })
    return one
  }

  async function terminate(caller: Owner, id: string): Promise<void> {
    if (!(await store.remove(caller, id))) throw notFound(id)
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

/** Each change of an owner's list makes what is kept of it old. */
function forgetting(store: SubAgentStore, forget: (caller: Owner) => void): SubAgentStore {
  const after = async <T>(caller: Owner, change: Promise<T>): Promise<T> => change.finally(() => forget(caller))
  return {
    list: store.list,
    insert: (caller, one, max) => after(caller, store.insert(caller, one, max)),
    remove: (caller, id) => after(caller, store.remove(caller, id)),
    atWork: (caller, id, by) => after(caller, store.atWork(caller, id, by)),
    ended: (caller, id, by) => after(caller, store.ended(caller, id, by)),
  }
}

function notFound(id: string): ServiceError {
  return new ServiceError('not_found', `There is no sub-agent ${id}.`)
}
