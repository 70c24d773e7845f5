import type { JsonObject } from '../../agent/messages.ts'
import type { RunKey } from '../../runs/run.ts'
import type { OpenCall, RunActs } from '../../runs/run-store.ts'
import { query, type Connection, type Database } from '../database.ts'
import { keyColumns } from '../rows.ts'

/** Records the acts of a run within a unit of work that holds the run. */
export type RecordActs = (connection: Connection, key: RunKey, acts: RunActs | undefined) => Promise<void>

export function createRecordActs({ db, ledger }: Pick<Database, 'db' | 'ledger'>): RecordActs {
  /** Rarely read: calls that a process has left behind. */
  async function openCallsOf(connection: Connection, key: RunKey): Promise<OpenCall[]> {
    const ofCalls = db
      .selectFrom('audit_events')
      .select(['action', 'target', 'data'])
      .where((is) => is.and(keyColumns(key)))
      .where('action', 'in', ['tool.started', 'tool.ended', 'tool.unknown'])
      .orderBy('id')
    const calls = (await query(connection, ofCalls)).rows.map(({ action, target, data }) => {
      const { call_id: callId } = JSON.parse(data ?? '{}') as JsonObject
      return { isStart: action === 'tool.started', call: { callId: String(callId), target } }
    })
    const ended = new Set(calls.flatMap(({ isStart, call }) => (isStart ? [] : [call.callId])))
    return calls.flatMap(({ isStart, call }) => (isStart && !ended.has(call.callId) ? [call] : []))
  }

  return async (connection, key, acts) => {
    if (!acts) return
    await ledger.store(connection, key.tenant, typeof acts === 'function' ? acts(await openCallsOf(connection, key)) : acts)
  }
}
