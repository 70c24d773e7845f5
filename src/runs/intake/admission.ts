import { limitOf, type Caller } from '../../access/rate-limits.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { ServiceError } from '../../errors.ts'
import { serviceStopping } from '../log/outcome.ts'
import { reachState } from '../../states.ts'

/** Decides on new work. Running work, and readers that join a run, are always admitted. */
export interface Admission {
  /** The refusal of a new run; undefined where the run is admitted. Asks the store where the decision depends on other processes. */
  refuseRun(caller: Caller, load: Load): ServiceError | undefined | Promise<ServiceError | undefined>
  /** The refusal of a direct tool execution. */
  refuseExecution(load: Pick<Load, 'total' | 'countUnended'>): ServiceError | undefined
  /** The refusal of an event. The run of an event waits for a free worker, so `max_runs` does not apply. */
  refuseEvent(): ServiceError | undefined
}

/** Number of runs in the local process. The functions are called only where the result matters. */
export interface Load {
  /** All runs in memory. */
  total: number
  countUnended(): number
  /** Unended runs of the caller. */
  countOfCaller(): number
}

export interface AdmissionDependencies {
  agent: CurrentAgent
  /** Port: the reason for load shedding, as a message for the caller; undefined without overload. */
  overload(): string | undefined
  /** Port: number of runs of a caller in other processes, up to a second old; absent without other processes. */
  runsElsewhere?(caller: Caller): number
  /** Port: exact number of unended runs of a caller in all processes. */
  countRuns?(caller: Caller): Promise<number>
}

/** Seconds until a refused caller may retry. */
const retryAfter = 2

export function createAdmission({ agent, overload, runsElsewhere, countRuns }: AdmissionDependencies): Admission {
  function refuseExecution({ total, countUnended }: Pick<Load, 'total' | 'countUnended'>): ServiceError | undefined {
    const limit = agent().config.limits.max_runs
    if (total >= limit && countUnended() >= limit) return overloaded(`${limit} runs have not ended`)
    return refuseEvent()
  }

  /** The last tenth of `max_runs` is reserved for callers with few runs, so that a single caller cannot block all others. */
  function refuseLargest({ countUnended, countOfCaller }: Load): ServiceError | undefined {
    const limit = agent().config.limits.max_runs
    const reserve = Math.floor(limit / 10)
    if (countUnended() < limit - reserve) return undefined
    const count = countOfCaller()
    return reserve > 0 && count >= reserve ? overloaded(`${count} of your runs have not ended, of ${limit} that there may be`) : undefined
  }

  function refuseEvent(): ServiceError | undefined {
    const reason = overload()
    return reason === undefined ? undefined : overloaded(reason)
  }

  return {
    refuseExecution,
    refuseEvent,
    refuseRun(caller, load) {
      const { limits, access } = agent().config
      const isFew = load.total < limits.max_runs - Math.floor(limits.max_runs / 10)
      const refusal = isFew ? refuseEvent() : (refuseExecution(load) ?? refuseLargest(load))
      if (refusal) return refusal
      const rates = access.rate_limits
      const limit = Object.keys(rates).length > 0 ? limitOf(rates, caller, 'concurrent_runs') : undefined
      if (limit === undefined) return undefined
      const ownCount = load.countOfCaller()
      if (ownCount >= limit) return tooMany(limit)
      if (ownCount + (runsElsewhere?.(caller) ?? 0) < limit) return undefined
      // The number of other processes may be a second old, so the store decides: a caller with one run after another must not be refused.
      reachState('runs-limited-by-store')
      return countRuns?.(caller).then((count) => (count < limit ? undefined : tooMany(limit)))
    },
  }
}

function tooMany(limit: number): ServiceError {
  reachState('runs-limited')
  return new ServiceError('rate_limited', `${limit} of your runs have not ended; no more are taken.`, { retryAfter })
}

function overloaded(reason: string): ServiceError {
  return new ServiceError('overloaded', `The service takes nothing new now: ${reason}.`, { retryAfter })
}

/** Admits new work until the service stops, and numbers the work in order of arrival. */
export interface Intake {
  readonly isClosed: boolean
  /** Throws `overloaded` when the service is stopping. */
  assertOpen(): void
  /** Refuses new work from now on. */
  close(): void
  /** The queue order of a run that arrives now: grows with every call, also within a millisecond. */
  nextArrival(): number
}

export function createIntake(now: () => number): Intake {
  let isClosed = false
  let lastArrival = 0
  return {
    get isClosed() {
      return isClosed
    },
    assertOpen() {
      if (!isClosed) return
      reachState('request-while-stopping')
      throw serviceStopping()
    },
    close() {
      isClosed = true
    },
    nextArrival() {
      lastArrival = Math.max(lastArrival + 1, now() * 1000)
      return lastArrival
    },
  }
}
