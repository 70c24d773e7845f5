import { limitOf, type Caller } from '../../access/rate-limits.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { ServiceError } from '../../errors.ts'

/** Whether new work is taken. What runs already, and whoever joins it, is never asked. */
export interface Admission {
  /** Why a new run may not begin; undefined when it may. Where that depends on other processes, the store is asked. */
  refuseRun(caller: Caller, load: Load): ServiceError | undefined | Promise<ServiceError | undefined>
  /** Why a tool may not be executed outside of a run. */
  refuseExecution(load: Pick<Load, 'known' | 'begun'>): ServiceError | undefined
  /** Why an event may not be taken, which waits until there is room for its run. */
  refuseEvent(): ServiceError | undefined
}

/** Runs of the local process that have not ended. Counted only where it matters. */
export interface Load {
  /** All that it knows of, also async ones that have not begun. */
  known: number
  begun(): number
  /** Begun ones of the caller. */
  own(): number
}

export interface AdmissionDependencies {
  agent: CurrentAgent
  /** Port: why the local process can't take more, in words for the caller; undefined when it can. */
  overload(): string | undefined
  /** Port: runs of a caller that other processes have, as far as they are known; absent where there are none. */
  runsElsewhere?(caller: Caller): number
  /** Port: how many runs of a caller have begun and not ended, in all processes. */
  countRuns?(caller: Caller): Promise<number>
}

/** Seconds: runs end all the time. */
const retryAfter = 2

export function createAdmission({ agent, overload, runsElsewhere, countRuns }: AdmissionDependencies): Admission {
  function refuseExecution({ known, begun }: Pick<Load, 'known' | 'begun'>): ServiceError | undefined {
    const most = agent().config.limits.max_runs
    if (known >= most && begun() >= most) return overloaded(`${most} runs have not ended`)
    return refuseEvent()
  }

  /** The last tenth of the runs is for callers with few of them: one caller alone does not have others refused. */
  function refuseLargest({ known, begun, own }: Load): ServiceError | undefined {
    const most = agent().config.limits.max_runs
    const reserve = Math.floor(most / 10)
    if (known < most - reserve || begun() < most - reserve) return undefined
    const count = own()
    return reserve > 0 && count >= reserve ? overloaded(`${count} of your runs have not ended, of ${most} that there may be`) : undefined
  }

  function refuseEvent(): ServiceError | undefined {
    const reason = overload()
    return reason === undefined ? undefined : overloaded(reason)
  }

  return {
    refuseExecution,
    refuseEvent,
    refuseRun(caller, load) {
      const refusal = refuseExecution(load) ?? refuseLargest(load)
      if (refusal) return refusal
      const most = limitOf(agent().config.access.rate_limits, caller, 'concurrent_runs')
      if (most === undefined) return undefined
      const own = load.own()
      if (own >= most) return tooMany(most)
      if (own + (runsElsewhere?.(caller) ?? 0) < most) return undefined
      // What others told may be a second old: who has one run after the other, each at another process, must not be refused for that.
      return countRuns?.(caller).then((count) => (count < most ? undefined : tooMany(most)))
    },
  }
}

function tooMany(most: number): ServiceError {
  return new ServiceError('rate_limited', `${most} of your runs have not ended; no more are taken.`, { retryAfter })
}

function overloaded(reason: string): ServiceError {
  return new ServiceError('overloaded', `The service takes nothing new now: ${reason}.`, { retryAfter })
}
