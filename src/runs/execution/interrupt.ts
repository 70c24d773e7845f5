import type { PendingCall } from '../../agent/approval.ts'
import { toCompact } from '../log/compact-log.ts'
import type { RunPorts } from './ports.ts'
import type { NewJob } from '../jobs.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import { storeNext, type Progress } from './progress.ts'
import type { InterruptEvent } from '../run.ts'
import { toUsage } from './usage.ts'

/**
 * Stores where a run stands whose calls wait for approval; its readers see the `interrupt` after that. From then on no process has it: it
 * goes on where the last of the calls is decided. Its session stays its own.
 */
export async function interrupt(
  run: LiveRun,
  progress: Progress,
  calls: readonly PendingCall[],
  { store, jobs, now: clock, newId }: RunPorts,
): Promise<void> {
  const { key, sessionId, fence, agent, log } = run
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
      ...{ session: turn.session, sessionId, step, data: checkpoint, calls, now, expiresAt },
      log: {
        input: run.input,
        events: toCompact([...log.events, event]),
        ...(log.restoredAt === undefined ? {} : { restoredAt: log.restoredAt }),
      },
      // At least 1: it tells that it has run.
      ranMs: Math.max(1, run.elapsedMs(now)),
      jobs: [expiry],
    }),
  )
  log.append(event)
  // Of several that are to be done later the earliest may be this.
  jobs.wake('approval_expiry')
}
