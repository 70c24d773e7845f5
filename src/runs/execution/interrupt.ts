import type { PendingCall } from '../../agent/approval.ts'
import { toCompact } from '../log/compact-log.ts'
import { toAsked } from './acts.ts'
import type { ExecutionPorts } from './ports.ts'
import type { NewJob } from '../jobs.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import { storeNext, type Progress } from './progress.ts'
import type { InterruptEvent } from '../run.ts'
import { artifactsOf, toUsage } from './finish.ts'
import { reachState } from '../../states.ts'

/**
 * Stores the state of a run whose calls wait for a decision, then appends the `interrupt` event to the log. From then on no process holds the
 * run. The process of the last decision resumes the run. The run keeps the session. Throws `rate_limited` for a caller with too many runs
 * that wait for client tools.
 */
export async function interrupt(run: LiveRun, progress: Progress, requested: readonly PendingCall[], deps: ExecutionPorts): Promise<void> {
  const { store, jobs, clientWaits, now: clock, newId } = deps
  const { key, sessionId, fence, agent, log, trace } = run
  const { usage, steps, turn } = progress
  const calls = withBudgetsOnce(requested)
  const made = artifactsOf(progress)
  const now = clock()
  const event: InterruptEvent = {
    type: 'interrupt',
    at: now,
    calls,
    usage: toUsage(usage.models, steps, agent),
    thoughts: usage.thoughts,
    ...(made.length > 0 && { files: { folder: turn.session, made } }),
  }
  const expiresAt = Math.ceil(now + waitOf(run, calls) * 1000)
  const data = { owner: key.owner, requestId: key.requestId, fence }
  const newJobs: NewJob[] = [{ id: newId(), kind: 'approval_expiry', tenant: key.tenant, data, dueAt: expiresAt }]
  if (run.request.reportsInterruptions)
    newJobs.push({
      id: newId(),
      kind: 'interrupt_callback',
      tenant: key.tenant,
      data: { ...data, n: countInterruptions(run) + 1, at: now },
      dueAt: now,
    })
  run.recordTimes()
  const storeInterruption = () =>
    storeNext(run, progress, event, (step, checkpoint, settlements) =>
      store.interrupt(key, fence, {
        session: turn.session,
        sessionId,
        step,
        data: checkpoint,
        ...toAsked(calls, run, deps),
        now,
        expiresAt,
        log: {
          input: run.input,
          events: toCompact([...log.events, event]),
          ...(log.restoredAt === undefined ? {} : { restoredAt: log.restoredAt }),
          trace: trace.all(),
        },
        // At least 1, which marks the run as started.
        ranMs: Math.max(1, run.elapsedMs(now)),
        jobs: newJobs,
        settlements,
      }),
    )
  const isForClient = calls.some(({ by }) => by === 'client')
  await run.times.during('store', () => (isForClient ? clientWaits.add(key, agent, storeInterruption) : storeInterruption()))
  reachState('run-interrupted')
  log.append(event)
  // The new jobs may be the earliest of their kinds.
  jobs.wake(...newJobs.map(({ kind }) => kind))
}

/** Sub-agents that work in parallel may all find the same budget used up, which is decided once. */
function withBudgetsOnce(calls: readonly PendingCall[]): readonly PendingCall[] {
  const isFirst = (call: PendingCall) => calls.find(({ by, tool }) => by === 'budget' && tool === call.tool) === call
  return calls.filter((call) => call.by !== 'budget' || isFirst(call))
}

function countInterruptions({ log }: LiveRun): number {
  return [...log.events].filter(({ type }) => type === 'interrupt').length
}

/** Seconds that a run waits for decisions. A person may need a day; a client that runs its own tools answers soon or never. */
function waitOf({ request, agent }: LiveRun, calls: readonly PendingCall[]): number {
  const { approvals, limits } = agent.config
  const isShort = request.hasShortWait === true && calls.every(({ by }) => by === 'client')
  return isShort ? limits.client_tool_wait : approvals.expire_after
}
