import type { Topic, Topics } from '../../src/replicas/bus.ts'
import type { RunStore } from '../../src/runs/run-store.ts'
import { createBudgets } from '../../src/budgets/budgets.ts'
import { createOverrideRules, type OverrideRules, type OverrideStore } from '../../src/budgets/overrides.ts'
import { createToRaise, type ToRaise } from '../../src/runs/approvals/raise-limit.ts'
import { createRuns, type Runs } from '../../src/runs/runs.ts'
import { portsOf } from '../../src/runs/process-fixture.ts'
import { ServiceError } from '../../src/errors.ts'
import { budgetsOf, createSimulatedAgent } from './agent.ts'
import { currentActor, type Actor, type Clock } from './clock.ts'
import type { World } from './world.ts'

/** Interval of the renewal of leases, of the search for lost runs and of the look for jobs. */
const heartbeatMs = 2000

type Listener = (data: never) => void

/** One process of the service, with the runs of the product behind ports that wait for the schedule. */
export class SimulatedProcess implements Actor {
  readonly holder: string
  readonly clock: Clock
  isAlive = true
  /** Messages from the bus that this process will not get. */
  deafTo = 0
  /** The call of the database that will fail: `after` calls later, before or after the write is stored. */
  failure: { after: number; isStored: boolean } | undefined
  /** Number of tools that are being executed. */
  runningTools = 0
  readonly runs: Runs
  readonly store: RunStore
  private readonly world: World
  private readonly listeners = new Map<Topic, Set<Listener>>()
  /** The part of the store of approvals that stores a decision. */
  readonly approvals: Pick<World['store'], 'decide'>
  /** The rules of who may change a limit, and how the limit of a run that waits is raised. */
  readonly rules: OverrideRules
  readonly toRaise: ToRaise
  readonly overrides: OverrideStore
  private readonly tails: World['store']['tailStore']
  private readonly jobs: Pick<World['store'], 'takeJob' | 'finishJob' | 'returnJob'>

  constructor(holder: string, world: World) {
    this.holder = holder
    this.world = world
    this.clock = world.clock
    this.store = this.connect<RunStore>(world.store, '', isFunctionOfRuns)
    this.approvals = this.connect(world.store, '', (name) => name === 'decide')
    this.tails = this.connect(world.store.tailStore, 'tails.')
    this.jobs = this.connect(world.store, '', (name) => name.endsWith('Job'))
    world.store.alive.add(holder)
    this.overrides = this.connect(world.store.budgets.overrides, 'overrides.')
    const budgets = () => (world.budget ? budgetsOf(world.budget) : [])
    this.rules = createOverrideRules({ store: this.overrides, budgets, adminTenant: 'default' })
    this.toRaise = createToRaise({ budgets, rules: this.rules, now: () => world.clock.now })
    this.runs = currentActor.run(this, () => this.start())
  }

  /** Resolves when the schedule has picked the task; never for a process that is gone. */
  readonly point = async (label: string): Promise<void> => {
    await this.world.schedule.point(`${this.holder} ${label}`)
    // A promise of its own: one that all shared would keep the waiting code of every process that has died.
    if (!this.isAlive) await new Promise<never>(() => {})
  }

  private start(): Runs {
    const { world, clock } = this
    const isInjected = (error: unknown) => error instanceof ServiceError
    const agent = createSimulatedAgent({
      point: this.point,
      sleep,
      budget: world.budget,
      beginModelCall: () => world.beginModelCall(),
      onCounted: (nanoUsd) => void (world.counted += nanoUsd),
      onTool: (change) => void (this.runningTools += change),
      onWrite: (requestId) => world.audit.onWrite(requestId),
    })
    const runs = createRuns({
      ...portsOf(world.store, (_run, error) => {
        if (!isInjected(error)) world.audit.fault(`Internal error: ${error instanceof Error ? error.stack : String(error)}`)
      }),
      store: this.store,
      budgets: createBudgets({
        adminTenant: 'default',
        store: this.connect(world.store.budgets, 'budgets.'),
        holder: this.holder,
        now: () => clock.now,
        newId: () => world.newId(),
        onFault: (error) => this.report('warning', error),
      }),
      holder: this.holder,
      jobs: { wake: (...kinds) => world.wakeJobs(kinds) },
      now: () => clock.now,
      newId: () => world.newId(),
      agent: () => agent,
      refusalOf: async () => undefined,
      admission: { refuseRun: () => undefined, refuseEvent: () => undefined },
      tails: this.tails,
      bus: {
        publish: (topic, data) => world.publish(this, topic, data),
        subscribe: (topic, listener) => this.subscribe(topic, listener),
        onGap: () => () => undefined,
      },
      onEnd: () => undefined,
      sleep,
    })
    setInterval(() => this.renew(), heartbeatMs)
    return runs
  }

  private subscribe(topic: Topic, listener: Listener): () => void {
    const listeners = this.listeners.get(topic) ?? new Set()
    this.listeners.set(topic, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  /** Gives a message of another process to the listeners. */
  receive<T extends Topic>(topic: T, data: Topics[T]): void {
    if (!this.isAlive) return
    if (this.deafTo > 0) return void this.deafTo--
    currentActor.run(this, () => {
      if (topic === 'left') void this.adopt()
      for (const listener of this.listeners.get(topic) ?? []) listener(data as never)
    })
  }

  private renew(): void {
    this.world.store.alive.add(this.holder)
    void this.adopt()
    void this.lookForJobs()
  }

  /** Looks for runs of lost processes. */
  async adopt(): Promise<void> {
    await currentActor.run(this, () => this.runs.adopt(0)).catch((error: unknown) => this.report('adoption', error))
  }

  /** Takes the jobs that are due, until there are none. */
  async lookForJobs(): Promise<void> {
    const kinds = ['run', 'approval_expiry'] as const
    if (!this.world.store.hasJob(kinds, this.clock.now)) return
    await currentActor
      .run(this, async () => {
        const job = await this.jobs.takeJob(kinds, this.holder, this.clock.now)
        if (!job) return
        void this.lookForJobs()
        try {
          const { data } = job
          if (job.kind === 'run') {
            const outcome = await this.runs.work(job as Parameters<Runs['work']>[0])
            if (outcome.kind === 'again') return this.jobs.returnJob(job.id)
          } else if ('fence' in data)
            await this.runs.expire({ tenant: job.tenant, owner: data.owner, requestId: data.requestId }, data.fence)
          await this.jobs.finishJob(job.id)
        } catch (error) {
          this.report(`job ${job.kind}`, error)
          await this.jobs.returnJob(job.id)
        }
      })
      .catch((error: unknown) => this.report('look for jobs', error))
  }

  private report(what: string, error: unknown): void {
    if (!(error instanceof ServiceError)) this.world.audit.fault(`${what}: ${error instanceof Error ? error.stack : String(error)}`)
  }

  /** A port of the database as this process sees it: the call arrives, and is answered, when the schedule says so. */
  private connect<T extends object>(port: T, prefix: string, isUsed: (name: string) => boolean = () => true): T {
    const functions = Object.entries(port).filter(([name, value]) => typeof value === 'function' && isUsed(name))
    const connected = functions.map(([name, value]) => [
      name,
      (...args: unknown[]) => this.call(prefix + name, value as (...args: unknown[]) => Promise<unknown>, args),
    ])
    return Object.fromEntries(connected) as T
  }

  private async call(name: string, work: (...args: unknown[]) => Promise<unknown>, args: unknown[]): Promise<unknown> {
    const { audit } = this.world
    const failure = name.endsWith('Job') ? undefined : this.nextFailure()
    await this.point(name)
    if (failure?.isStored === false) throw storeAway()
    let answer: { value: unknown } | { error: unknown }
    try {
      const value = await work(...args)
      audit.afterCall(name, args, value)
      answer = { value }
    } catch (error) {
      answer = { error }
    }
    await this.point(`${name} answered`)
    if (failure) throw storeAway()
    if ('error' in answer) throw answer.error
    return answer.value
  }

  private nextFailure(): { isStored: boolean } | undefined {
    const { failure } = this
    if (!failure) return undefined
    this.failure = failure.after > 0 ? { ...failure, after: failure.after - 1 } : undefined
    return failure.after > 0 ? undefined : failure
  }
}

function isFunctionOfRuns(name: string): boolean {
  return !name.endsWith('Job') && name !== 'decide'
}

function storeAway(): ServiceError {
  return new ServiceError('store_unavailable', 'The database cannot be reached at the moment.', { retryAfter: 5 })
}

/** Rejects when the signal is aborted. */
function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error)
    const abort = () => {
      clearTimeout(timer)
      reject(signal!.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
  })
}
