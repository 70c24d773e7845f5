import type { Decision } from '../../agent/approval.ts'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { RunKey } from '../../runs/run.ts'
import { FenceLost, type Interruption, type RunStore } from '../../runs/run-store.ts'
import { query, type Database, type Connection } from '../database.ts'
import type { RunMoves } from '../queue/moves.ts'
import type { Rounds } from './notifications.ts'
import { json, keyColumns, parseJson } from '../rows.ts'
import { type RunStatements, whereChat } from './statements.ts'
import { attempts, type Settle } from '../budgets/settle.ts'
import type { ApprovalRow } from '../tables.ts'
import type { RecordActs } from './acts.ts'

type Inserts = Pick<RunMoves, 'lock' | 'insertJobs'> & { settle: Settle; recordActs: RecordActs }

/** The part of `RunStore` for interrupted runs: interrupts a run, and returns the decisions on its calls. */
export function runApprovals(
  database: Database,
  statements: RunStatements,
  { lock, insertJobs, settle, recordActs }: Inserts,
  rounds: Rounds,
): Pick<RunStore, 'interrupt' | 'decisions' | 'startApproved'> {
  const { db } = database

  async function interrupt(key: RunKey, fence: number, interruption: Interruption): Promise<void> {
    const isNotified = await database.forTenant(key.tenant).unit(async (connection) => {
      await lock(connection, key.tenant, interruption.session)
      const hasConfigs = await markInterrupted(connection, key, fence, interruption)
      await statements.insertStep(connection, { ...key, n: interruption.step, data: JSON.stringify(interruption.data) })
      const rows = interruption.calls.map(({ callId: call_id, tool, input, by, sources, salt }, place) => ({
        ...keyColumns(key),
        call_id,
        place,
        tool,
        by,
        input: JSON.stringify(input),
        sources: json(sources),
        salt: salt ?? null,
        session_id: interruption.sessionId,
        requested_at: interruption.now,
        expires_at: interruption.expiresAt,
      }))
      for (const row of rows) await query(connection, db.insertInto('approvals').values(row))
      await insertJobs(connection, interruption.jobs)
      if (hasConfigs) await rounds.begin(connection, key, interruption.now)
      await recordActs(connection, key, interruption.acts)
      if (interruption.settlements) await settle(connection, attempts(key.tenant, interruption.settlements))
      return hasConfigs
    })
    if (isNotified) rounds.wake()
  }

  /** True where the run has notification configs. */
  async function markInterrupted(connection: Connection, key: RunKey, fence: number, { log, ranMs }: Interruption): Promise<boolean> {
    const still = db
      .updateTable('runs')
      // The client has been answered with `approval_required`, so a disconnect must no longer cancel the run.
      .set({ status: 'interrupted', on_disconnect: 'continue', log: JSON.stringify(log), ran_ms: ranMs })
      .where((is) => is.and({ ...keyColumns(key), fence, status: 'running' }))
      .where(whereChat)
      .returning('has_notifications')
    const [interrupted] = (await query(connection, still)).rows
    if (!interrupted) throw new FenceLost(key)
    return interrupted.has_notifications === 1
  }

  async function decisions(key: RunKey): Promise<Map<string, Decision>> {
    const decided = db
      .selectFrom('approvals')
      .select(['call_id', 'decision', 'new_input', 'reason', 'requested_at', 'decided_at', 'started_at', 'salt'])
      .where((is) => is.and(keyColumns(key)))
      .where('decision', 'in', ['approve', 'reject', 'extend', 'output', 'error'])
    const { rows } = await query(database.forTenant(key.tenant).read, decided)
    return new Map(rows.map((row) => [row.call_id, toDecision(row)]))
  }

  function startApproved(...[key, fence, callId, now, acts]: Parameters<RunStore['startApproved']>): Promise<void> {
    return database.forTenant(key.tenant).unit(async (connection) => {
      if ((await statements.holdRun(connection, { ...key, fence })).rows.length === 0) throw new FenceLost(key)
      const started = db
        .updateTable('approvals')
        .set({ started_at: now })
        .where((is) => is.and({ ...keyColumns(key), call_id: callId }))
      await query(connection, started)
      await recordActs(connection, key, acts)
    })
  }

  return { interrupt, decisions, startApproved }
}

type DecidedRow = Pick<ApprovalRow, 'decision' | 'new_input' | 'reason' | 'requested_at' | 'decided_at' | 'started_at' | 'salt'>

function toDecision({ decision, new_input, reason, requested_at: requestedAt, decided_at, started_at, salt }: DecidedRow): Decision {
  const times = { requestedAt, decidedAt: decided_at ?? requestedAt }
  if (decision === 'output') return { decision, output: JSON.parse(new_input ?? 'null') as JsonValue, ...times }
  if (decision === 'error') return { decision, error: reason ?? '', ...times }
  if (decision === 'extend') return { decision }
  if (decision === 'reject') return { decision, ...(reason === null ? {} : { reason }) }
  const input = parseJson<JsonObject>(new_input)
  return { decision: 'approve', isStarted: started_at !== null, ...(input ? { input } : {}), ...(salt !== null && { salt }) }
}
