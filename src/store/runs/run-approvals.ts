import type { Decision } from '../../agent/approval.ts'
import type { RunKey } from '../../runs/run.ts'
import { FenceLost, type Interruption, type RunStore } from '../../runs/run-store.ts'
import { query, type Database } from '../database.ts'
import type { RunMoves } from './moves.ts'
import { keyColumns, parseJson } from '../rows.ts'
import type { RunStatements } from './statements.ts'
import type { Connection } from '../statement.ts'
import { whereChat } from './where-chat.ts'

type Inserts = Pick<RunMoves, 'lock' | 'insertJobs'>

/** The part of `RunStore` for runs that wait for approval: interrupts a run, and returns the decisions on its calls. */
export function runApprovals(
  database: Database,
  statements: RunStatements,
  { lock, insertJobs }: Inserts,
): Pick<RunStore, 'interrupt' | 'decisions' | 'startApproved'> {
  const { db } = database

  function interrupt(key: RunKey, fence: number, interruption: Interruption): Promise<void> {
    return database.forTenant(key.tenant).unit(async (connection) => {
      await lock(connection, key.tenant, interruption.session)
      await markInterrupted(connection, key, fence, interruption)
      await statements.insertStep(connection, { ...key, n: interruption.step, data: JSON.stringify(interruption.data) })
      const rows = interruption.calls.map(({ callId: call_id, tool, input, by }, place) => ({
        ...keyColumns(key),
        call_id,
        place,
        tool,
        by,
        input: JSON.stringify(input),
        session_id: interruption.sessionId,
        requested_at: interruption.now,
        expires_at: interruption.expiresAt,
      }))
      for (const row of rows) await query(connection, db.insertInto('approvals').values(row))
      await insertJobs(connection, interruption.jobs)
    })
  }

  async function markInterrupted(connection: Connection, key: RunKey, fence: number, { log, ranMs }: Interruption): Promise<void> {
    const still = db
      .updateTable('runs')
      // The client has been answered with `approval_required`, so a disconnect must no longer cancel the run.
      .set({ status: 'interrupted', on_disconnect: 'continue', log: JSON.stringify(log), ran_ms: ranMs })
      .where((is) => is.and({ ...keyColumns(key), fence, status: 'running' }))
      .where(whereChat)
      .returning('request_id')
    if ((await query(connection, still)).rows.length === 0) throw new FenceLost(key)
  }

  async function decisions(key: RunKey): Promise<Map<string, Decision>> {
    const decided = db
      .selectFrom('approvals')
      .select(['call_id', 'decision', 'new_input', 'reason', 'started_at'])
      .where((is) => is.and(keyColumns(key)))
      .where('decision', 'in', ['approve', 'reject'])
    const { rows } = await query(database.forTenant(key.tenant).read, decided)
    return new Map(
      rows.map(({ call_id, decision, new_input, reason, started_at }): [string, Decision] => {
        if (decision === 'reject') return [call_id, { decision, ...(reason === null ? {} : { reason }) }]
        const changed = new_input === null ? {} : { input: parseJson<never>(new_input)! }
        return [call_id, { decision: 'approve', isStarted: started_at !== null, ...changed }]
      }),
    )
  }

  function startApproved(key: RunKey, fence: number, callId: string, now: number): Promise<void> {
    return database.forTenant(key.tenant).unit(async (connection) => {
      if ((await statements.holdRun(connection, { ...key, fence })).rows.length === 0) throw new FenceLost(key)
      const started = db
        .updateTable('approvals')
        .set({ started_at: now })
        .where((is) => is.and({ ...keyColumns(key), call_id: callId }))
      await query(connection, started)
    })
  }

  return { interrupt, decisions, startApproved }
}
