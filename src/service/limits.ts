import { createCallerIds } from '../access/caller-ids.ts'
import type { Owner } from '../access/owner.ts'
import { createRequestLimits, type RequestLimits } from '../access/rate-limits.ts'
import { shareUsage } from '../access/usage-elsewhere.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import type { Bus } from '../replicas/bus.ts'
import type { AdmissionDependencies } from '../runs/intake/admission.ts'
import type { Database } from '../store/database.ts'
import { createRunCount } from '../store/runs/counts.ts'

interface LimitOptions {
  agent: CurrentAgent
  database: Database
  bus: Bus
  /** Id of this process. */
  holder: string
  /** The owners of the runs in this process, once per run that has begun and not ended. */
  running(): Iterable<Owner>
}

interface OpenLimits extends Pick<AdmissionDependencies, 'runsElsewhere' | 'countRuns'> {
  requests: RequestLimits
}

/** Wires the limits of callers, counted over all processes that share the database. */
export function openLimits(stack: AsyncDisposableStack, { agent, database, bus, holder, running }: LimitOptions): OpenLimits {
  const { isShared } = database
  const idOf = createCallerIds()
  const now = () => performance.now()
  const limits = () => agent().config.access.rate_limits
  const requests = createRequestLimits({ limits, now, idOf, isShared })
  if (!isShared) return { requests }
  const usage = stack.adopt(shareUsage({ bus, process: holder, idOf, limits, requests, running, now }), (shared) => shared.close())
  return { requests, runsElsewhere: usage.runsOf, countRuns: createRunCount(database) }
}
