import type { Kysely } from 'kysely'
import type { RunKey } from '../runs/run.ts'
import { FenceLost, type Begun, type Checkpoint, type EndedRun, type NewMessage, type NewRun, type RunStore } from '../runs/run-store.ts'
import { run, type Database } from './database.ts'
import { json, keyColumns, parseJson, toEndedRow, toMetrics, toStoredRun } from './run-rows.ts'
import { runStatements } from './run-statements.ts'
import { createTakeOver } from './run-take-over.ts'
import type { Connection } from './statement.ts'
import type { Tables } from './tables.ts'

/** The request id is taken: what the unit did is undone. */
class RequestKnown extends Error {}

/** `RunStore` on either database. */
export function createRunStore(database: Database): RunStore {
  const statements = runStatements(database.db)

  async function begin(one: NewRun): Promise<Begun> {
    try {
      return await database.unit((connection) => insert(connection, one))
    } catch (error) {
      if (!(error instanceof RequestKnown)) throw error
      const known = await find(one)
      if (known) return { kind: 'known', run: known }
      // It left its line in between: the id is free again.
      return begin(one)
    }
  }

  async function insert(connection: Connection, one: NewRun): Promise<Begun> {
    const wasEmpty = one.messages.length > 1 && (await isEmpty(connection, one))
    const { rows } = await statements.claimSession(connection, { ...one, messages: one.messages.length })
    const session = rows[0]!
    const isOurs = session.active_run === one.requestId
    const messageIndex = isOurs ? session.message_count - 1 : null
    const inserted = await statements.insertRun(connection, {
      ...one,
      session: session.key,
      session_id: one.sessionId,
      body_hash: one.bodyHash,
      request: JSON.stringify(one.request),
      status: isOurs ? 'running' : 'pending',
      on_disconnect: one.onDisconnect,
      message_index: messageIndex,
    })
    if (inserted.rows.length === 0) throw new RequestKnown()
    if (messageIndex === null) return { kind: 'waiting', fence: 1 }
    const stored = one.messages.length === 1 || wasEmpty ? one.messages : one.messages.slice(-1)
    await insertMessages(connection, one.tenant, session.key, messageIndex, stored)
    const turn = { session: session.key, messageIndex, messageCount: session.message_count, windowStart: session.window_start }
    return { kind: 'running', fence: 1, turn }
  }

  /** The last of `messages` gets `lastIndex`. */
  async function insertMessages(
    connection: Connection,
    tenant: string,
    session: string,
    lastIndex: number,
    messages: readonly NewMessage[],
  ) {
    let idx = lastIndex - messages.length + 1
    for (const { role, content, createdAt, data } of messages) {
      await statements.insertMessage(connection, { tenant, session, idx: idx++, role, content, created_at: createdAt, data: json(data) })
    }
  }

  async function isEmpty(connection: Connection, one: NewRun): Promise<boolean> {
    const { rows } = await run(connection, sessionCount(database.db, one))
    return (rows[0]?.message_count ?? 0) === 0
  }

  async function find(key: RunKey) {
    const { rows } = await statements.findRun(database.read, key)
    return rows[0] && toStoredRun(rows[0])
  }

  async function finish(key: RunKey, fence: number, ended: EndedRun): Promise<RunKey | undefined> {
    return database.unit(async (connection) => {
      const { rows } = await statements.endRun(connection, toEndedRow(key, fence, ended))
      if (rows.length === 0) throw new FenceLost(key)
      const session = await statements.endSessionTurn(connection, {
        ...ended,
        tenant: key.tenant,
        requestId: key.requestId,
        now: ended.endedAt,
      })
      // A session that was deleted meanwhile gets no message.
      if (ended.message && session.rows.length > 0) {
        await insertMessages(connection, key.tenant, ended.session, ended.messageCount - 1, [ended.message])
      }
      await statements.addMetrics(connection, toMetrics(key.tenant, ended))
      if (ended.hadCheckpoints && !ended.continuable) await run(connection, deleteSteps(database.db, key))
      const next = session.rows[0]
      return next?.active_run ? { tenant: key.tenant, owner: next.owner, requestId: next.active_run } : undefined
    })
  }

  return {
    begin,
    find,
    finish,
    ...createTakeOver(database, statements, insertMessages),
    async history(tenant, session, from) {
      const { rows } = await statements.history(database.read, { tenant, session, from })
      return rows.map((row) => ({ idx: row.idx, role: row.role, content: row.content, data: parseJson(row.data) }))
    },
    checkpoint: (key, fence, n, data) =>
      database.unit(async (connection) => {
        await holdFence(connection, database.db, key, fence)
        await statements.insertStep(connection, { ...key, n, data: JSON.stringify(data) })
      }),
    async checkpoints(key) {
      const { rows } = await run(database.read, stepsOf(database.db, key))
      return rows.map((row) => JSON.parse(row.data) as Checkpoint)
    },
    async heartbeat(id, alive_until) {
      const row = { id, alive_until }
      const beat = database.db
        .insertInto('processes')
        .values(row)
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ alive_until }))
      await database.unit((connection) => run(connection, beat))
    },
  }
}

/** Throws when the run belongs to another process by now, or has ended. */
async function holdFence(connection: Connection, db: Kysely<Tables>, key: RunKey, fence: number): Promise<void> {
  const held = db
    .updateTable('runs')
    .set({ fence })
    .where((is) => is.and({ ...keyColumns(key), fence, status: 'running' }))
    .returning('fence')
  const { rows } = await run(connection, held)
  if (rows.length === 0) throw new FenceLost(key)
}

function stepsOf(db: Kysely<Tables>, key: RunKey) {
  return db
    .selectFrom('run_steps')
    .select('data')
    .where((is) => is.and(keyColumns(key)))
    .orderBy('n')
}

function deleteSteps(db: Kysely<Tables>, key: RunKey) {
  return db.deleteFrom('run_steps').where((is) => is.and(keyColumns(key)))
}

function sessionCount(db: Kysely<Tables>, { tenant, owner, sessionId }: NewRun) {
  return db
    .selectFrom('sessions')
    .select('message_count')
    .where((is) => is.and({ tenant, owner, session_id: sessionId }))
}
