import type { Kysely } from 'kysely'
import { runGone, type Accepted, type NewEvent, type NewRun } from '../../runs/run-store.ts'
import { toText } from '../rows.ts'
import { statement, type Connection, type Param } from '../statement.ts'
import type { AsyncEventRow, CallbackRow, Tables } from '../tables.ts'

type EventKey = Pick<AsyncEventRow, 'tenant' | 'owner' | 'event'>

/** The rows beside the run of an accepted event: its event id and its callback. */
export function asyncEvents(database: Kysely<Tables>) {
  const find = statement(database, (db, param: Param<EventKey>) =>
    db
      .selectFrom('async_events as event')
      .innerJoin('runs as run', (join) =>
        join
          .onRef('run.tenant', '=', 'event.tenant')
          .onRef('run.owner', '=', 'event.owner')
          .onRef('run.request_id', '=', 'event.request_id'),
      )
      .select(['event.request_id', 'event.session_id', 'run.status'])
      .where('event.tenant', '=', param('tenant'))
      .where('event.owner', '=', param('owner'))
      .where('event.event', '=', param('event')),
  )

  const insertEvent = statement(database, (db, param: Param<AsyncEventRow>) =>
    db
      .insertInto('async_events')
      .values({
        tenant: param('tenant'),
        owner: param('owner'),
        event: param('event'),
        request_id: param('request_id'),
        session_id: param('session_id'),
        created_at: param('created_at'),
      })
      .onConflict((conflict) => conflict.columns(['tenant', 'owner', 'event']).doNothing())
      .returning('event'),
  )

  const insertCallback = statement(
    database,
    (db, param: Param<Omit<CallbackRow, 'status' | 'attempts' | 'round' | 'tries' | 'next_attempt_at'>>) =>
      db.insertInto('callbacks').values({
        tenant: param('tenant'),
        owner: param('owner'),
        request_id: param('request_id'),
        event_id: param('event_id'),
        url: param('url'),
        status: 'pending',
        attempts: '[]',
        round: 0,
        tries: 0,
        created_at: param('created_at'),
      }),
  )

  async function findAccepted(connection: Connection, key: EventKey): Promise<Accepted | undefined> {
    const row = (await find(connection, key)).rows[0]
    if (row?.status === 'gone') throw runGone({ ...key, requestId: row.request_id })
    return row && { requestId: row.request_id, sessionId: row.session_id }
  }

  return {
    find: findAccepted,

    /** Accepts an event once: a concurrent request with the same event waits for the commit of the first, and returns the ids of the first. */
    async accept(connection: Connection, { tenant, owner, requestId, sessionId, now }: NewRun, { key }: NewEvent) {
      const event = { tenant, owner, event: key }
      const row = { ...event, request_id: requestId, session_id: sessionId, created_at: now }
      if ((await insertEvent(connection, row)).rows.length > 0) return undefined
      return findAccepted(connection, event)
    },

    /** Runs after the insert of the run, which may find the request id taken. */
    async addCallback(connection: Connection, { tenant, owner, requestId, now }: NewRun, { id, callbackUrl }: NewEvent): Promise<void> {
      if (callbackUrl === undefined) return
      const row = { tenant, owner, request_id: requestId, event_id: toText(id), url: callbackUrl, created_at: now }
      await insertCallback(connection, row)
    },
  }
}
