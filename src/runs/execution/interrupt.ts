import type { PendingCall } from '../../agent/approval.ts'
import { toCompact } from '../log/compact-log.ts'
import type { RunPorts } from './ports.ts'
import type { NewJob } from '../jobs.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import { storeNext, type Progress } from './progress.ts'
import type { InterruptEvent } from '../run.ts'
import { toUsage } from './usage.ts'

/**
 * Stores the state of a run whose calls wait for approval, then appends the `interrupt` event to the log. From then on no process holds the
 * run. The process of the last decision resumes the run. The run keeps the session.
 */
export async function interrupt(
  run: LiveRun,
  progress: Progress,
  calls: readonly PendingCall[],
  { store, jobs, now: clock, newId }: RunPorts,
): Promise<void> {
  const { key, sessionId, fence, agent, log, trace } = run
  const { usage, steps, turn } = progress
  const event: InterruptEvent = {
    type: 'interrupt',
    calls,
    usage: toUsage(usage.models, steps, agent.config.llms),
    thoughts: usage.thoughts,
  }
  const now = clock()
  const expiresAt = Math.ceil(now + agent.config.approvals.expire_after * 1000)
  const data = { owner: key.owner, requestId: key.requestId, fence }
  const expiry: NewJob<'approval_expiry'> = { id: newId(), kind: 'approval_expiry', tenant: key.tenant, data, dueAt: expiresAt }
  await storeNext(run, progress, event, (step, checkpoint) =>
    store.interrupt(key, fence, {
      session: turn.session,
      sessionId,
      step,
      data: checkpoint,
      calls,
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
      jobs: [expiry],
    }),
  )
  log.append(event)
  // The new job may be the earliest of its kind.
  jobs.wake('approval_expiry')
}
