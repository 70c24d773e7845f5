import type { JobKind } from '../../src/runs/jobs.ts'
import type { Topic, Topics } from '../../src/replicas/bus.ts'
import { Audit } from './audit.ts'
import { Clock } from './clock.ts'
import { clockAheadMs } from './budget-store.ts'
import { places, type Plan } from './plan.ts'
import { SimulatedProcess } from './process.ts'
import { Schedule } from './schedule.ts'
import { SimulatedStore } from './store.ts'

/** Lease of a process that is gone, in simulated milliseconds. */
const leaseMs = 10_000

/** What one schedule consists of: the order, the time, the database and the processes. */
export class World {
  readonly schedule: Schedule
  readonly clock = new Clock()
  readonly store: SimulatedStore
  readonly audit: Audit
  readonly processes: SimulatedProcess[] = []
  readonly budget: Plan['budget']
  private readonly broken: readonly number[]
  private modelCalls = 0
  /** Nano USD that the model has counted, also of calls that were cut off. */
  counted = 0
  private ids = 0
  private started = 0

  constructor({ picks, budget, broken = [] }: Omit<Plan, 'steps'>, store: SimulatedStore) {
    this.budget = budget
    this.broken = broken
    store.budgets.now = () => this.clock.now + clockAheadMs
    this.schedule = new Schedule(picks)
    this.store = store
    this.audit = new Audit(store)
    for (let place = 0; place < places; place++) this.start(place)
    this.tick()
  }

  /** True for a call of the model that breaks off. */
  beginModelCall(): boolean {
    return this.broken.includes(this.modelCalls++)
  }

  newId(): string {
    return `id ${++this.ids}`
  }

  /** Starts a new process in a place. */
  private start(place: number): void {
    this.processes[place] = new SimulatedProcess(`p${place}.${++this.started}`, this)
    void this.processes[place].adopt()
  }

  /** Time passes when the schedule picks the clock. */
  private tick(): void {
    void this.schedule.point('clock').then(() => {
      this.clock.advance()
      this.tick()
    })
  }

  publish<T extends Topic>(from: SimulatedProcess, topic: T, data: Topics[T]): void {
    for (const process of this.processes) {
      if (process === from || !process.isAlive) continue
      void this.schedule.point(`${process.holder} hears ${topic}`).then(() => process.receive(topic, data))
    }
  }

  wakeJobs(kinds: readonly JobKind[]): void {
    if (!kinds.some((kind) => kind === 'run' || kind === 'approval_expiry')) return
    for (const process of this.processes) if (process.isAlive) void process.lookForJobs()
  }

  /** Kills a process: no wait of the process goes on. The lease runs out later, and a new process starts in place of the old process. */
  kill(place: number): void {
    const process = this.processes[place]!
    if (!process.isAlive) return
    process.isAlive = false
    this.clock.add({ isAlive: true, clock: this.clock }, leaseMs, () => this.store.alive.delete(process.holder))
    this.replace(place)
  }

  /** Ends a process as a deployment does: the process hands over the runs, and gives up the lease. */
  async stop(place: number): Promise<void> {
    const process = this.processes[place]!
    await process.runs.drain(1000)
    if (!process.isAlive) return
    process.isAlive = false
    this.store.alive.delete(process.holder)
    this.publish(process, 'left', { holder: process.holder })
    this.replace(place)
  }

  private replace(place: number): void {
    void this.schedule.point(`start of place ${place}`).then(() => this.start(place))
  }
}
