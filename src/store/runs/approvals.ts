import { sql, type ExpressionBuilder } from 'kysely'
import type { Owner } from '../../access/owner.ts'
import type { PendingCall } from '../../agent/approval.ts'
import type { JsonObject, JsonValue, TaintSource } from '../../agent/messages.ts'
import { isAsyncRun, type RunKey } from '../../runs/run.ts'
import type { DecidedCall } from '../../runs/trace/span.ts'
import type {
  ApprovableCall,
  ApprovalStore,
  ApprovalCaller,
  CallKey,
  CallPosition,
  NewDecision,
  StoredCall,
} from '../../runs/approvals/approval-store.ts'
import { query, type Database } from '../database.ts'
import { createChangeOverride } from '../budgets/overrides.ts'
import { excerptsOf } from '../sessions/session-rows.ts'
import { runMoves } from '../queue/moves.ts'
import { json, keyColumns, parseJson, toText } from '../rows.ts'
import { createRecordActs } from './acts.ts'
import { runStatements } from './statements.ts'
import type { ApprovalRow, Tables } from '../tables.ts'

/** `ApprovalStore` on either database. */
export function createApprovalStore(database: Database): ApprovalStore {
  return {
    ...shownCalls(database),
    ...clientCalls(database),
    ...callsOfRuns(database),
    excerpts: (tenant, runs, limits) => excerptsOf(database, tenant, runs, limits),
  }
}

/** The calls that an approver sees. */
function shownCalls(database: Database): Pick<ApprovalStore, 'find' | 'list'> {
  const { db } = database
  async function positionOf(asker: ApprovalCaller, callId: string): Promise<CallPosition | undefined> {
    const position = db
      .selectFrom('approvals')
      .select(['requested_at as requestedAt', 'place', 'call_id as callId', 'request_id as requestId', 'owner'])
      .where('tenant', '=', asker.tenant)
      .where('call_id', '=', callId)
      .where(isShownTo(asker))
    return (await query(database.forTenant(asker.tenant).read, position)).rows[0]
  }

  return {
    async find(asker, requestId, callId) {
      const visibleCalls = db
        .selectFrom('approvals')
        .selectAll()
        .where('tenant', '=', asker.tenant)
        .where('request_id', '=', requestId)
        .where((is) => (callId === undefined ? is('by', '=', 'budget') : is('call_id', '=', callId)))
        .where(isShownTo(asker))
        .orderBy(sql`case when decision is null then 0 else 1 end`)
        .orderBy('requested_at', 'desc')
        .orderBy('place')
      const rows = (await query(database.forTenant(asker.tenant).read, visibleCalls)).rows
      const row = rows.find(({ owner }) => owner === asker.owner) ?? rows[0]
      return row && toCall(row)
    },

    async list(asker, { limit, before, now }) {
      const start = typeof before === 'string' ? await positionOf(asker, before) : before
      if (before !== undefined && start === undefined) return undefined
      const open = db
        .selectFrom('approvals')
        .selectAll()
        .where('tenant', '=', asker.tenant)
        .where('decision', 'is', null)
        .where('expires_at', '>', now)
        .where('by', '!=', 'client')
        .where(isShownTo(asker))
        .orderBy('requested_at', 'desc')
        .orderBy('place')
        .orderBy('call_id')
        .orderBy('request_id')
        .orderBy('owner')
        .limit(limit)
      const page = start === undefined ? open : open.where(isBehind(start))
      return (await query(database.forTenant(asker.tenant).read, page)).rows.map(toCall) as ApprovableCall[]
    },
  }
}

/** The calls that wait for the client of a run. */
function clientCalls(database: Database): Pick<ApprovalStore, 'clientCalls' | 'clientWaits'> {
  const { db } = database
  /** A literal value, because partial indexes are not used with parameters. */
  const ofClient = ({ tenant, owner }: Owner) =>
    db.selectFrom('approvals').where('tenant', '=', tenant).where('owner', '=', owner).where('by', '=', sql.lit('client'))

  return {
    async clientCalls({ tenant, owner }, callIds) {
      if (callIds.length === 0) return []
      const calls = ofClient({ tenant, owner }).selectAll().where('call_id', 'in', callIds)
      return (await query(database.forTenant(tenant).read, calls)).rows.map(toCall)
    },

    async clientWaits({ tenant, owner }, now, limit) {
      const waits = ofClient({ tenant, owner })
        .select(({ fn }) => [
          'request_id as requestId',
          fn.max<number>('requested_at').as('since'),
          fn.max<number>('expires_at').as('expiresAt'),
        ])
        .where('decision', 'is', null)
        .where('expires_at', '>', now)
        .groupBy('request_id')
        .orderBy('expiresAt')
        .orderBy('request_id')
        .limit(limit)
      return (await query(database.forTenant(tenant).read, waits)).rows
    },
  }
}

/** The calls of a run, and their decision. */
function callsOfRuns(database: Database): Pick<ApprovalStore, 'decide' | 'openOf' | 'ofRun'> {
  const { db } = database
  const changeOverride = createChangeOverride(database)
  const { find: findRun, lock, take, free } = runMoves(database, runStatements(db, database.isShared))
  const recordActs = createRecordActs(database)

  function ofCall({ callId, ...key }: CallKey) {
    return { ...keyColumns(key), call_id: callId }
  }

  const callsOf = (key: RunKey) =>
    db
      .selectFrom('approvals')
      .selectAll()
      .where((is) => is.and(keyColumns(key)))
      .orderBy('requested_at')
      .orderBy('place')

  const openOfRun = (key: RunKey) => callsOf(key).where('decision', 'is', null)

  return {
    decide: (key, decision, takeOver, { raise, act } = {}) =>
      database.forTenant(key.tenant).unit(async (connection) => {
        const unlockedRow = await findRun(connection, key)
        const state = await lock(connection, key.tenant, unlockedRow?.session ?? null)
        // Read again: the previous holder of the lock may have changed the run.
        const row = await findRun(connection, key)
        if (row?.status !== 'interrupted') return undefined
        const decided = db
          .updateTable('approvals')
          .set({
            ...toDecisionColumns(decision),
            decided_at: takeOver.now,
            ...(act && { salt: act.salt }),
          })
          .where((is) => is.and(ofCall(key)))
          .where('decision', 'is', null)
          .where('expires_at', '>', takeOver.now)
          .returning('call_id')
        if ((await query(connection, decided)).rows.length === 0) return undefined
        await recordActs(connection, key, act && [act])
        if (raise) await changeOverride(connection, key.tenant, raise.account, raise.change)
        if ((await query(connection, openOfRun(key).clearSelect().select('call_id').limit(1))).rows.length > 0) return {}
        if (isAsyncRun(row)) return { isReleased: await free(connection, row, state, takeOver.now) }
        const takenOver = await take(connection, row, state, takeOver)
        if (!takenOver) throw new Error('A run whose session was locked has changed.')
        return { takenOver }
      }),

    async openOf(key) {
      return (await query(database.forTenant(key.tenant).read, openOfRun(key))).rows.map(toPending)
    },

    async ofRun(key) {
      return (await query(database.forTenant(key.tenant).read, callsOf(key))).rows.map(toDecided)
    },
  }
}

/** Calls of the asker's own runs, and those that the permissions of the asker decide: by a role, or of a budget. */
function isShownTo({ owner, mayApprove, mayRaise }: ApprovalCaller) {
  return (is: ExpressionBuilder<Tables, 'approvals'>) =>
    is.or([is('owner', '=', owner), ...(mayApprove ? [is('by', '=', 'role')] : []), ...(mayRaise ? [is('by', '=', 'budget')] : [])])
}

/** Rows after the position: newest first, and calls of one request in the order requested. */
function isBehind({ requestedAt, place, callId, requestId, owner }: CallPosition) {
  return (is: ExpressionBuilder<Tables, 'approvals'>) =>
    is.and([
      is('requested_at', '<=', requestedAt),
      is.or([
        is('requested_at', '<', requestedAt),
        sql<boolean>`(place, call_id, request_id, owner) > (${place}, ${callId}, ${requestId}, ${owner})`,
      ]),
    ])
}

function toDecisionColumns(decision: NewDecision): Pick<ApprovalRow, 'decision' | 'new_input' | 'reason' | 'decided_by'> {
  const columns = { decision: decision.decision, new_input: null, reason: null, decided_by: decision.decidedBy }
  if (decision.decision === 'output') return { ...columns, new_input: JSON.stringify(decision.output) }
  if (decision.decision === 'error') return { ...columns, reason: toText(decision.error) }
  if (decision.decision === 'extend') return { ...columns, new_input: json(decision.limit) }
  const { input, reason } = decision
  return { ...columns, new_input: json(input), reason: reason === undefined ? null : toText(reason) }
}

/** Arguments that an approver has changed; undefined for the output of a client. */
function changedInputOf({ decision, new_input }: ApprovalRow): JsonObject | undefined {
  return decision === 'output' ? undefined : parseJson<JsonObject>(new_input)
}

function toPending({ call_id, tool, input, by, sources }: ApprovalRow): PendingCall {
  const call = { callId: call_id, tool, input: JSON.parse(input) as JsonObject, by }
  return sources === null ? call : { ...call, sources: JSON.parse(sources) as TaintSource[] }
}

function toDecided(row: ApprovalRow): DecidedCall {
  const newInput = changedInputOf(row)
  return {
    ...toPending(row),
    requestedAt: row.requested_at,
    expiresAt: row.expires_at,
    ...(row.decision === null ? {} : { decision: row.decision }),
    ...(row.decided_at === null ? {} : { decidedAt: row.decided_at }),
    ...(row.decided_by === null ? {} : { decidedBy: row.decided_by }),
    ...(row.reason === null ? {} : { reason: row.reason }),
    ...(newInput ? { newInput } : {}),
  }
}

function toCall(row: ApprovalRow): StoredCall {
  const { tenant, owner, request_id: requestId, session_id: sessionId, requested_at: requestedAt, expires_at: expiresAt } = row
  const newInput = changedInputOf(row)
  return {
    ...toPending(row),
    tenant,
    owner,
    requestId,
    sessionId,
    place: row.place,
    requestedAt,
    expiresAt,
    ...(row.salt !== null && { salt: row.salt }),
    ...(row.decision === null ? {} : { decision: row.decision }),
    ...(newInput ? { newInput } : {}),
    ...(row.decision === 'output' && row.new_input !== null ? { output: JSON.parse(row.new_input) as JsonValue } : {}),
    ...(row.decision === 'error' ? { error: row.reason ?? '' } : {}),
  }
}
