import type { Logger } from 'pino'
import { callerKey } from '../access/owner.ts'
import type { Identity } from '../access/identity.ts'
import { ownIssuer, type Principal } from '../access/permissions.ts'
import type { RequestLimits } from '../access/rate-limits.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import type { Bus } from '../replicas/bus.ts'
import type { Jobs } from '../runs/jobs.ts'
import type { Runs } from '../runs/runs.ts'
import { createEngine } from '../schedules/engine.ts'
import { createFireSchedule } from '../schedules/firing.ts'
import type { Fire } from '../schedules/schedule.ts'
import { createSchedules, type Schedules } from '../schedules/schedules.ts'
import type { ScheduleStore } from '../schedules/schedule-store.ts'
import type { Settings } from '../settings/settings.ts'
import type { Database } from '../store/database.ts'
import { openRunInsert } from '../store/runs/runs.ts'
import { createScheduleStore, type ScheduleRows } from '../store/schedules/schedules.ts'
import type { ScheduleClock } from '../store/schedules/statements.ts'
import type { SecretBox } from '../store/secrets/secret-box.ts'

interface SchedulesOptions {
  database: Database
  settings: Pick<Settings, 'accessProvider'>
  agent: CurrentAgent
  runs: Runs
  principalNow(identity: Identity): Promise<Principal | undefined>
  limits: RequestLimits
  jobs: Jobs
  bus: Bus
  box: SecretBox | undefined
  clock: ScheduleClock | undefined
  /** Called with what became of times and triggers. */
  onFired(fires: readonly Fire[]): void
  newId(): string
  log: Logger
}

interface OpenSchedules extends OwnerWatch {
  store: ScheduleRows
  schedules: Schedules
  /** Fires nothing more. */
  stop(): Promise<void>
}

/** Wires schedules, and starts to fire. */
export function openSchedules(stack: AsyncDisposableStack, options: SchedulesOptions): OpenSchedules {
  const { database, settings, agent, runs, principalNow, limits, jobs, bus, box, clock, onFired, newId, log } = options
  const store = createScheduleStore(database, openRunInsert(database, { box }), clock)
  const config = () => agent().config.schedules
  const fire = createFireSchedule({
    store,
    runs,
    principalNow,
    limits,
    config,
    newId,
    onStarted: () => jobs.wake('run'),
    onFired({ fires }) {
      onFired(fires)
      for (const { outcome, reason, scheduledFor } of fires)
        if (outcome === 'refused') log.warn({ outcome, reason, scheduledFor }, 'A schedule could not start a run')
    },
  })
  const engine = createEngine({
    store,
    fire,
    config,
    bus,
    onFault: (err, schedule) => log.error({ err, schedule: schedule?.id, tenant: schedule?.tenant }, 'Schedules could not be fired'),
  })
  stack.adopt(engine, (opened) => opened.stop())
  return {
    store,
    schedules: createSchedules({ store, runs, fire, config, onChanged: engine.changed, newId }),
    stop: engine.stop,
    ...watchOwners(stack, { store, hasProvider: settings.accessProvider !== undefined, isEnabled: () => config().enabled, log }),
  }
}

interface OwnerWatch {
  /** Called with each authenticated caller. */
  seen(principal: Principal): void
}

interface WatchOptions {
  store: Pick<ScheduleStore, 'providerOwners' | 'renew'>
  /** False: no caller is of an identity provider. */
  hasProvider: boolean
  isEnabled(): boolean
  log: Logger
}

const watchEveryMs = 60_000

/** Renews the roles of callers of an identity provider who have schedules. Callers without schedules cost a look into a set. */
function watchOwners(stack: AsyncDisposableStack, { store, hasProvider, isEnabled, log }: WatchOptions): OwnerWatch {
  if (!hasProvider) return { seen: () => undefined }
  let owners = new Set<string>()
  const seen = new Map<string, Identity>()

  async function renew(): Promise<void> {
    const identities = [...seen.values()]
    seen.clear()
    for (const identity of identities) await store.renew(identity)
    if (isEnabled()) owners = new Set((await store.providerOwners()).map(callerKey))
  }

  const renewNow = () => renew().catch((err: unknown) => log.warn({ err }, 'The roles of owners of schedules could not be renewed'))
  void renewNow()
  const timer = setInterval(() => void renewNow(), watchEveryMs).unref()
  stack.defer(async () => {
    clearInterval(timer)
    await renewNow()
  })
  return {
    seen({ permissions: _permissions, ...identity }) {
      if (identity.issuer !== ownIssuer && owners.has(callerKey(identity))) seen.set(callerKey(identity), identity)
    },
  }
}
