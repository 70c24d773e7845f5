import { AsyncLocalStorage } from 'node:async_hooks'
import { performance } from 'node:perf_hooks'

/**
 * Reasons for a run or a request to wait. `queue`: the turn in the session, or the admission. `store`: the database. `model`: a call of
 * the run's own agent. `tools`: tool calls, with all work inside of the calls. `people`: a reader or a decision, while the service has
 * no work.
 */
export type Phase = 'queue' | 'store' | 'model' | 'tools' | 'people'

/** Milliseconds in each phase; `own` is the rest of the time. */
export type PhaseSums = Readonly<Record<Phase | 'own', number>>

const readClock = performance.now.bind(performance)

/** Where phases overlap, the time counts once, for the first of these. */
const byPriority = ['tools', 'people', 'model', 'store', 'queue'] as const

/** Divides the time of a run or of a request into phases. A change of phase costs a reading of the clock; nothing happens in between. */
export class PhaseTimes {
  private readonly clock: () => number
  private readonly open = { queue: 0, store: 0, model: 0, tools: 0, people: 0 }
  private readonly spent = { queue: 0, store: 0, model: 0, tools: 0, people: 0, own: 0 }
  private earlier: PhaseSums | undefined
  private current: Phase | 'own' = 'own'
  private since: number

  /** `queuedMs`: how long the run has waited in the queue before. `clock` returns milliseconds and never goes back. */
  constructor({ queuedMs = 0, clock = readClock }: { queuedMs?: number; clock?: () => number } = {}) {
    this.clock = clock
    this.spent.queue = queuedMs
    this.since = clock()
  }

  begin(phase: Phase): void {
    this.open[phase]++
    this.change()
  }

  /** Ends one `begin` of the phase. Has no effect where none is open. */
  end(phase: Phase): void {
    if (this.open[phase] === 0) return
    this.open[phase]--
    this.change()
  }

  /** Ends every `begin` of the phase. */
  endAll(phase: Phase): void {
    if (this.open[phase] === 0) return
    this.open[phase] = 0
    this.change()
  }

  /** Counts the time until the promise of `work` settles; returns that promise. */
  during<T>(phase: Phase, work: () => Promise<T>): Promise<T> {
    this.begin(phase)
    const end = () => this.end(phase)
    try {
      const working = work()
      working.then(end, end)
      return working
    } catch (error) {
      end()
      throw error
    }
  }

  /** Adds the sums of earlier attempts of the run; the last call counts. */
  restore(sums: PhaseSums): void {
    this.earlier = sums
  }

  /** The sums since the creation. */
  read(): PhaseSums {
    const sums = { ...this.spent }
    sums[this.current] += this.clock() - this.since
    return sums
  }

  /** The sums with those of earlier attempts. */
  readAll(): PhaseSums {
    return this.earlier ? addSums(this.read(), this.earlier) : this.read()
  }

  private change(): void {
    let next: Phase | 'own' = 'own'
    for (const phase of byPriority) {
      if (this.open[phase] === 0) continue
      next = phase
      break
    }
    if (next === this.current) return
    const now = this.clock()
    this.spent[this.current] += now - this.since
    this.since = now
    this.current = next
  }
}

export function addSums(a: PhaseSums, b: PhaseSums): PhaseSums {
  return combineSums(a, b, 1)
}

/** The sums, exact to a hundredth of a millisecond. */
export function roundSums(sums: PhaseSums): PhaseSums {
  const { queue, store, model, tools, people, own } = sums
  return { queue: round(queue), store: round(store), model: round(model), tools: round(tools), people: round(people), own: round(own) }
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100
}

/** What has been added to the sums since `before`. */
export function sumsSince(now: PhaseSums, before: PhaseSums): PhaseSums {
  return combineSums(now, before, -1)
}

function combineSums(a: PhaseSums, b: PhaseSums, sign: 1 | -1): PhaseSums {
  return {
    queue: a.queue + sign * b.queue,
    store: a.store + sign * b.store,
    model: a.model + sign * b.model,
    tools: a.tools + sign * b.tools,
    people: a.people + sign * b.people,
    own: a.own + sign * b.own,
  }
}

const measuredRequest = new AsyncLocalStorage<PhaseTimes>()

/** Runs `work`: its waits for the store, at any depth, count for `times`. For requests that start no run. */
export function measureStoreWaits(times: PhaseTimes, work: () => void): void {
  measuredRequest.run(times, work)
}

/** Executes a query or a unit of work of the store. Within `measureStoreWaits` the wait is counted. */
export function waitForStore<T>(work: () => Promise<T>): Promise<T> {
  const times = measuredRequest.getStore()
  return times ? times.during('store', work) : work()
}
