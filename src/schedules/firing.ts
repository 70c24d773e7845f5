import { PhaseTimes } from '../concurrency/phase-times.ts'
import type { Identity } from '../access/identity.ts'
import { accessTo, permits, type Principal } from '../access/permissions.ts'
import type { RequestLimits } from '../access/rate-limits.ts'
import type { AgentConfig } from '../configuration/schema.ts'
import { ServiceError, statusOf } from '../errors.ts'
import type { NewChat } from '../runs/new-chat.ts'
import type { Acceptance } from '../runs/ownership/async-runs.ts'
import type { RunKey } from '../runs/run.ts'
import { judge } from './catch-up.ts'
import { decide, following, missedFires, type Attempt, type Prepared } from './decide.ts'
import { fireRequestId, scheduleIsBusy, type ReadSchedule, type Schedule } from './schedule.ts'
import type { FireState, Firing, ScheduleStore } from './schedule-store.ts'

export interface FiringDependencies {
  store: Pick<ScheduleStore, 'fire'>
  runs: Pick<Acceptance, 'prepare'> & { cancel(key: RunKey): Promise<void> }
  /** The caller behind a stored identity, with the permissions of now; undefined where the key or the issuer is no longer accepted. */
  principalNow(identity: Identity): Promise<Principal | undefined>
  limits: Pick<RequestLimits, 'take' | 'limits'>
  config(): AgentConfig['schedules']
  /** Called when a run was started. */
  onStarted(): void
  onFired(firing: Firing): void
  newId(): string
}

/** Fires one schedule. */
export interface FireSchedule {
  /** Fires what is due. False where nothing was stored: another process fires the schedule, or it waits for a run. */
  due(schedule: ReadSchedule, now: number): Promise<boolean>
  /** Fires beside the times of the schedule. Undefined where the schedule has changed meanwhile, or has a fire of this time. */
  trigger(schedule: ReadSchedule, at: number): Promise<Firing | undefined>
}

const dayMs = 86_400_000

export function createFireSchedule(dependencies: FiringDependencies): FireSchedule {
  const { store, runs, config, onStarted, onFired } = dependencies
  const prepare = createPrepare(dependencies)

  /** Throws where the attempt has to be repeated later. */
  async function fire(schedule: ReadSchedule, attempt: Omit<Attempt, 'prepared'>): Promise<Firing | undefined> {
    const prepared = mayStart(schedule) ? await prepare(schedule, attempt.scheduledFor) : undefined
    const firing = (await store_(schedule, { ...attempt, prepared })) ?? (await storeAfterCancel(schedule, { ...attempt, prepared }))
    if (firing?.run) onStarted()
    if (firing) onFired(firing)
    return firing
  }

  function store_(schedule: ReadSchedule, attempt: Attempt): Promise<Firing | undefined> {
    const rules = { offlineMs: config().offline_days * dayMs }
    const storeAs = (prepared: Prepared | undefined) =>
      store.fire(schedule, (state) => decide(schedule, { ...attempt, prepared }, state, rules))
    return storeAs(attempt.prepared).catch((error: unknown) => storeAs({ refused: reasonOf(error) }))
  }

  /** Cancels the run before, for an attempt that is not refused. */
  async function storeAfterCancel(schedule: ReadSchedule, attempt: Attempt): Promise<Firing | undefined> {
    const { tenant, owner, overlap, last, lastStatus } = schedule
    if (overlap !== 'cancel_running' || !last || !scheduleIsBusy(lastStatus)) return undefined
    await runs.cancel({ tenant, owner, requestId: last.requestId }).catch(ignoreEnded)
    return store_(schedule, attempt)
  }

  return {
    async due(schedule, now) {
      const { spec, watermark, catchUp, id, jitterMs, queuedFor, lastStatus } = schedule
      if (queuedFor !== undefined && !scheduleIsBusy(lastStatus))
        return (await fire(schedule, { kind: 'queued', scheduledFor: queuedFor, missed: [] })) !== undefined
      const { fires, missed, next } = judge(spec, watermark, now, catchUp, { id, ms: jitterMs })
      const [scheduledFor, second] = fires
      if (scheduledFor !== undefined) {
        const after = second === undefined ? next : { at: second, dueAt: now }
        return (await fire(schedule, { kind: 'occurrence', scheduledFor, missed, next: after })) !== undefined
      }
      const evaluated = missed.at(-1)?.scheduledFor ?? watermark
      if (missed.length === 0 && queuedFor !== undefined) return false
      const pass = (state: FireState) => ({
        fires: missedFires(missed, state.now),
        changes: { watermark: evaluated, ...following(next, queuedFor, state.now) },
      })
      const passed = await store.fire(schedule, pass)
      if (passed) onFired(passed)
      return passed !== undefined
    },

    // Occurrences are whole seconds: a trigger never takes the place of one.
    trigger: (schedule, at) => fire(schedule, { kind: 'trigger', scheduledFor: at % 1000 === 0 ? at + 1 : at, missed: [] }),
  }
}

/** False where the run before has not ended, and the schedule waits for it or leaves the occurrence out. */
function mayStart({ lastStatus, overlap }: ReadSchedule): boolean {
  return !scheduleIsBusy(lastStatus) || overlap === 'allow' || overlap === 'cancel_running'
}

function createPrepare({ runs, principalNow, limits, newId }: FiringDependencies) {
  return async (schedule: Schedule, scheduledFor: number): Promise<Prepared> => {
    const principal = await principalNow(schedule.identity)
    if (!principal) return { refused: 'key_revoked', pauses: true }
    if (!permits(principal, accessTo.chat)) return { refused: 'forbidden' }
    const { callbackUrl, reportsInterruptions } = schedule.request
    const chat = toChat(schedule, scheduledFor, newId())
    const event = { source: `schedule:${schedule.id}`, id: chat.requestId, callbackUrl, reportsInterruptions }
    try {
      const run = await runs.prepare(principal, event, chat)
      return { run, refuse: takeOnce(limits, principal) }
    } catch (error) {
      return { refused: reasonOf(error) }
    }
  }
}

/** Counts the fire as a request of its owner: once, where the transaction is repeated, and only in the process that fires. */
function takeOnce(limits: FiringDependencies['limits'], principal: Principal): () => string | undefined {
  let result: { reason: string | undefined } | undefined
  return () => {
    result ??= { reason: Object.keys(limits.limits()).length > 0 ? limits.take(principal)?.code : undefined }
    return result.reason
  }
}

function toChat(schedule: Schedule, scheduledFor: number, newSessionId: string): NewChat {
  const { id, request, session } = schedule
  return {
    requestId: fireRequestId(id, scheduledFor),
    sessionId: session.kind === 'new' ? undefined : session.sessionId,
    newSessionId,
    operation: 'schedule',
    bodyHash: request.bodyHash,
    request: request.chat,
    onDisconnect: 'continue',
    times: new PhaseTimes(),
    at: ['body', 'request'],
  }
}

/** The reason of a refusal. Faults of the service, which pass, are thrown again. */
function reasonOf(error: unknown): string {
  if (!(error instanceof ServiceError) || statusOf(error.code) >= 500) throw error
  // A field of the request may have become invalid since the creation: the reason is the name of the field.
  return error.faults[0]?.loc.findLast((step) => typeof step === 'string') ?? error.code
}

function ignoreEnded(error: unknown): void {
  if (!(error instanceof ServiceError) || !['run_ended', 'not_found', 'gone'].includes(error.code)) throw error
}
