import { sql } from 'kysely'
import type { ExecutionResult, ExecutionStore, StoredExecution } from '../../runs/tool-executions/tool-execution.ts'
import { runGone } from '../../runs/run-store.ts'
import { query, type Database } from '../database.ts'
import { aliveProcesses } from '../leases/processes.ts'
import { isChat, keyColumns, parseJson } from '../rows.ts'
import { createRecordActs } from './acts.ts'
import { runStatements, whereToolExecution } from './statements.ts'
import type { RunRow } from '../tables.ts'

/** `ExecutionStore` on either database: rows of the table of runs, because runs and executions share the caller's request ids. */
export function createExecutionStore(database: Database): ExecutionStore {
  const { db } = database
  const statements = runStatements(db, database.isShared)
  const recordActs = createRecordActs(database)
  return {
    begin: (execution) =>
      database.forTenant(execution.tenant).unit(async (connection) => {
        const inserted = await statements.insertRun(connection, {
          ...keyColumns(execution),
          session: null,
          session_id: execution.sessionId,
          operation: 'tool_execute',
          body_hash: execution.bodyHash,
          request: null,
          status: 'running',
          on_disconnect: 'cancel',
          holder: execution.holder,
          place: 0,
          message_index: null,
          agent: execution.agent,
          sub: null,
          input: null,
          config_version: null,
          created_at: execution.now,
          started_at: execution.now,
        })
        if (inserted.rows.length > 0) {
          await recordActs(connection, execution, execution.acts)
          return undefined
        }
        const row = (await statements.findRow(connection, execution)).rows[0]!
        if (row.status === 'gone') throw runGone(execution)
        return toStored(row)
      }),
    async find(key) {
      const row = (await statements.findRow(database.forTenant(key.tenant).read, key)).rows[0]
      if (row?.status === 'gone') throw runGone(key)
      return row && toStored(row)
    },
    async takeOver(key, fence, holder) {
      const update = db
        .updateTable('runs')
        .set({ holder, fence: fence + 1, status: 'running', ended_at: null })
        .where((is) => is.and({ ...keyColumns(key), fence }))
        .where(whereToolExecution)
        .where('log', 'is', null)
        .where('status', '!=', 'gone')
      return (await database.forTenant(key.tenant).unit((connection) => query(connection, update))).changes > 0
    },
    async finish(key, fence, { result, now, acts }) {
      const ended = db
        .updateTable('runs')
        .set({ status: result?.status ?? 'error', ended_at: now, log: result ? JSON.stringify(result) : null })
        .where((is) => is.and({ ...keyColumns(key), fence }))
        .where(whereToolExecution)
        .where('log', 'is', null)
        .where('status', '!=', 'gone')
      await database.forTenant(key.tenant).unit(async (connection) => {
        await query(connection, ended)
        await recordActs(connection, key, acts)
      })
    },
    async endLost({ holder, graceMs, now, toActs }) {
      const update = db
        .updateTable('runs')
        .set({ status: 'error', ended_at: now })
        .where(sql<boolean>`status in ('pending', 'running')`)
        .where(whereToolExecution)
        .where('holder', '!=', holder)
        .where('holder', 'not in', aliveProcesses(database, graceMs))
      await database.all.unit(async (connection) => {
        const { rows } = await query(connection, update.returning(['tenant', 'owner', 'request_id as requestId']))
        for (const key of rows) await recordActs(connection, key, (open) => toActs(key, open))
      })
    },
  }
}

function toStored({ operation, session_id, body_hash, status, holder, fence, log }: RunRow): StoredExecution {
  return {
    operation,
    sessionId: session_id,
    bodyHash: body_hash,
    fence,
    holder: status === 'running' ? holder : undefined,
    result: isChat({ operation }) ? undefined : parseJson<ExecutionResult>(log),
  }
}
