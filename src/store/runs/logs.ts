import { sql } from 'kysely'
import type { CompactLog } from '../../runs/log/compact-log.ts'
import type { TailBatch, TailStore } from '../../runs/ownership/remote/tail.ts'
import { query, type Database, statement, type Param } from '../database.ts'
import { keyColumns, parseJson } from '../rows.ts'
import { whereRun } from './statements.ts'
import type { RunKey } from '../../runs/run.ts'
import type { RunTailRow } from '../tables.ts'
import type { EchoStore } from '../../runs/log/echo-store.ts'

/** `TailStore` on either database. An embedded database has no other replicas. */
export function createRunTails(database: Database): TailStore {
  const { db } = database
  const batchesAfter = statement(db, (builder, param: Param<RunKey & { fence: number; after: number }>) =>
    builder
      .selectFrom('run_tails')
      .select(['first', 'last', 'restored', 'restored_at', 'events'])
      .where((is) => is.and({ ...whereRun(param), fence: param('fence') }))
      .where('last', '>', param('after'))
      .orderBy('first')
      .limit(maxBatches),
  )
  return {
    async append(tenant, batches) {
      const added = db
        .insertInto('run_tails')
        .values(batches.map(toRow))
        .onConflict((conflict) => conflict.doNothing())
      await database.forTenant(tenant).unit((connection) => query(connection, added))
    },
    async read(key, fence, after) {
      const { rows } = await batchesAfter(database.forTenant(key.tenant).read, { ...key, fence, after })
      return rows.map(({ first, last, restored, restored_at, events }) => ({
        first,
        last,
        attempt: { restored, restoredAt: restored_at ?? undefined },
        events: JSON.parse(events) as CompactLog['events'],
      }))
    },
    async remove(key) {
      const deletion = db.deleteFrom('run_tails').where((is) => is.and(keyColumns(key)))
      await database.forTenant(key.tenant).unit((connection) => query(connection, deletion))
    },
    async sweep() {
      const orphanedTails = db.deleteFrom('run_tails').where((is) =>
        is.not(
          is.exists(
            is
              .selectFrom('runs')
              .select('fence')
              .whereRef('runs.tenant', '=', 'run_tails.tenant')
              .whereRef('runs.owner', '=', 'run_tails.owner')
              .whereRef('runs.request_id', '=', 'run_tails.request_id')
              .whereRef('runs.fence', '=', 'run_tails.fence')
              .where(sql<boolean>`runs.status in ('pending', 'running')`),
          ),
        ),
      )
      await database.all.unit((connection) => query(connection, orphanedTails))
    },
  }
}

/** Batches per read; a batch holds up to some hundred kilobytes. */
const maxBatches = 16

function toRow({ fence, first, last, attempt, events, ...key }: TailBatch): RunTailRow {
  const { restored, restoredAt } = attempt
  return { ...keyColumns(key), fence, first, last, restored, restored_at: restoredAt ?? null, events: JSON.stringify(events) }
}

/** `EchoStore` on either database. */
export function createEchoStore({ db, forTenant }: Database): EchoStore {
  const updateOf = (key: RunKey) => {
    const { tenant, owner, request_id: requestId } = keyColumns(key)
    return db.updateTable('runs').where('tenant', '=', tenant).where('owner', '=', owner).where('request_id', '=', requestId)
  }

  return {
    replace: ({ request, fence, ...key }, echo) =>
      forTenant(key.tenant).unit(async (connection) => {
        const update = updateOf(key)
          .set({ request: JSON.stringify({ ...request, echo }) })
          .where('status', '=', 'interrupted')
          .where('fence', '=', fence)
        return (await query(connection, update.returning('request_id'))).rows.length > 0
      }),

    remove: (key) =>
      forTenant(key.tenant).unit(async (connection) => {
        // The update locks the row, so that no repeat continues the run in between.
        const end = updateOf(key).set({ request: null, continuable: 0 }).where('ended_at', 'is not', null)
        const log = parseJson<CompactLog>((await query(connection, end.returning('log'))).rows[0]?.log ?? null)
        if (!log?.echo) return
        const { echo: _, ...rest } = log
        await query(connection, updateOf(key).set({ log: JSON.stringify(rest) }))
      }),
  }
}
