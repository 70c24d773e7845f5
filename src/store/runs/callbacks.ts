import type { Kysely } from 'kysely'
import type { CallbackAttempt, CallbackStatus, CallbackStore } from '../../runs/callbacks/attempt.ts'
import { query, type Database } from '../database.ts'
import { keyColumns } from '../rows.ts'
import type { Connection } from '../statement.ts'
import type { Tables } from '../tables.ts'

/** Number of attempts kept per callback; the newest stay. */
const maxAttempts = 100

/** Number of attempts kept with their bodies. */
const maxBodies = 10

/** `CallbackStore` on either database. */
export function createCallbackStore(database: Database): CallbackStore {
  const { db } = database

  return {
    async find(key) {
      const { rows } = await query(database.forTenant(key.tenant).read, whereKey(db.selectFrom('callbacks').selectAll(), keyColumns(key)))
      const row = rows[0]
      if (!row) return undefined
      const { event_id, url, status, attempts, round, tries } = row
      return { eventId: event_id, url, status: status as CallbackStatus, attempts: toAttempts(attempts), round, tries }
    },

    record: (key, round, attempt, { status, nextAt }) =>
      database.forTenant(key.tenant).unit(async (connection) => {
        const columns = keyColumns(key)
        const row = await lock(connection, db, columns)
        if (!row) return
        const isOfRound = row.round === round
        // An attempt of an earlier round may end late. Its verdict on the receiver counts; running out of attempts does not.
        const countsForStatus = isOfRound || status === 'delivered' || status === 'gone'
        const change = {
          attempts: JSON.stringify(toKept([...toAttempts(row.attempts), attempt])),
          tries: isOfRound ? row.tries + 1 : row.tries,
          ...(isOfRound ? { next_attempt_at: nextAt ?? null } : {}),
          ...(countsForStatus && row.status !== 'delivered' ? { status } : {}),
        }
        await query(connection, whereKey(db.updateTable('callbacks').set(change), columns))
      }),

    note: (key, attempt) =>
      database.forTenant(key.tenant).unit(async (connection) => {
        const columns = keyColumns(key)
        const row = await lock(connection, db, columns)
        if (!row) return
        const attempts = JSON.stringify(toKept([...toAttempts(row.attempts), attempt]))
        await query(connection, whereKey(db.updateTable('callbacks').set({ attempts }), columns))
      }),

    restart: (key, toJob) =>
      database.forTenant(key.tenant).unit(async (connection) => {
        const columns = keyColumns(key)
        const row = await lock(connection, db, columns)
        if (!row || row.status === 'delivered') return false
        const round = row.round + 1
        const job = toJob(round)
        const change = { status: 'pending', round, tries: 0, next_attempt_at: job.dueAt }
        await query(connection, whereKey(db.updateTable('callbacks').set(change), columns))
        await database.jobs.insert(connection, [job])
        return true
      }),
  }
}

type KeyColumns = ReturnType<typeof keyColumns>

/** Locks the callback, so that a concurrent change waits for the commit. */
async function lock(connection: Connection, db: Kysely<Tables>, key: KeyColumns) {
  const locking = whereKey(
    db.updateTable('callbacks').set(({ ref }) => ({ round: ref('round') })),
    key,
  )
  return (await query(connection, locking.returning(['status', 'attempts', 'round', 'tries']))).rows[0]
}

function whereKey<Q extends { where(column: keyof KeyColumns, is: '=', value: string): Q }>(
  builder: Q,
  { tenant, owner, request_id }: KeyColumns,
): Q {
  return builder.where('tenant', '=', tenant).where('owner', '=', owner).where('request_id', '=', request_id)
}

/** The newest attempts, of which the last few keep the bodies. */
export function toKept(attempts: readonly CallbackAttempt[]): CallbackAttempt[] {
  const firstBody = attempts.length - maxBodies
  return attempts
    .map((attempt, n) => {
      if (n >= firstBody) return attempt
      const { requestBody: _, responseBody: __, ...rest } = attempt
      return rest
    })
    .slice(-maxAttempts)
}

export function toAttempts(text: string): CallbackAttempt[] {
  return JSON.parse(text) as CallbackAttempt[]
}
