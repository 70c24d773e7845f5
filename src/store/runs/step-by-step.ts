import type { Kysely } from 'kysely'
import { firstQuestionFile } from '../../runs/attachments/result-images.ts'
import {
  FenceLost,
  runGone,
  SessionMoved,
  sessionBusy,
  sessionInterrupted,
  type Accepted,
  type Begun,
  type EndedRun,
  type NewEvent,
  type NewRun,
  type NextRun,
  type RunStore,
  type Turn,
} from '../../runs/run-store.ts'
import type { RunKey } from '../../runs/run.ts'
import { allSettledOrThrow, paramsOf, statement, type Connection, type Database, type Param } from '../database.ts'
import { attempts, type Settle } from '../budgets/settle.ts'
import type { RunMoves } from '../queue/moves.ts'
import { json, keyColumns, toEndedRow, toMetrics, toNewRunRow, toText, toToolRow, toWindow } from '../rows.ts'
import { insertArtifacts } from '../sessions/artifacts.ts'
import type { AsyncEventRow, CallbackRow, SessionRow, Tables } from '../tables.ts'
import type { RecordActs } from './acts.ts'
import { mediaStatements } from './media.ts'
import type { MessageMoves } from './messages.ts'
import { addNotifications, type NotificationStoreOptions, type Rounds } from './notifications.ts'
import { runRetry, type RunStatements } from './statements.ts'
import { markUnstored } from './unstored.ts'

/** Begins and ends runs. */
export type ChatStore = Pick<RunStore, 'begin' | 'finish'>

interface Parts {
  database: Database
  statements: RunStatements
  moves: RunMoves
  messages: MessageMoves
  rounds: Rounds
  settle: Settle
  recordActs: RecordActs
  box: NonNullable<NotificationStoreOptions['box']>
  findRequest: RunStore['findRequest']
}

/** The request id is taken. Thrown inside of the unit to roll back its changes. */
export class RequestKnown extends Error {}

/** The end of a run, and the row of its hour that counts the run. */
export interface Ending {
  key: RunKey
  fence: number
  ended: EndedRun
  hourRow: number
}

/** Begins and ends runs of all kinds, with a statement for each step. */
export function createStepByStep(parts: Parts) {
  const { database, rounds, findRequest } = parts
  const { insert, prepare } = createRunInsert(parts)
  const update = createUpdate(parts)

  async function begin(newRun: NewRun, onCommitted?: (turn: Turn) => void): Promise<Begun> {
    if (newRun.event) await prepare()
    try {
      return await database.forTenant(newRun.tenant).unit((connection) => insert(connection, newRun), {
        onCommitted: (begun) => begun.kind === 'running' && onCommitted?.(begun.turn),
      })
    } catch (error) {
      if (!(error instanceof RequestKnown)) throw error
      const run = await findRequest(newRun)
      // The stored run may have left its queue in the meantime: then the request id is free again.
      return run ? { kind: 'known', run } : begin(newRun, onCommitted)
    }
  }

  async function end(ending: Ending): Promise<NextRun | undefined> {
    const { next, isNotified } = await database.forTenant(ending.key.tenant).unit((connection) => update(connection, ending), runRetry)
    if (isNotified) rounds.wake()
    return next
  }

  const finish: RunStore['finish'] = (key, fence, ended) => end({ key, fence, ended, hourRow: 0 })
  return { begin, end, finish }
}

/** The unit of work that begins a run, as a part of another one. */
export interface RunInsert {
  /** Called before the unit. */
  prepare(): Promise<void>
  /** Throws `RequestKnown` where the request id is taken. */
  insert(connection: Connection, newRun: NewRun): Promise<Begun>
}

export function createRunInsert(parts: InsertParts): RunInsert {
  return { prepare: parts.moves.prepare, insert: createInsert(parts) }
}

type InsertParts = Pick<Parts, 'database' | 'statements' | 'moves' | 'box'>

/** The unit of work that begins a run. */
function createInsert({ database: { db }, statements, moves, box }: InsertParts): RunInsert['insert'] {
  const media = mediaStatements(db)
  const events = asyncEvents(db)

  async function insert(connection: Connection, newRun: NewRun): Promise<Begun> {
    const { tenant, event, messages } = newRun
    const accepted = event && (await events.accept(connection, newRun, event))
    if (accepted) return { kind: 'accepted', as: accepted }
    const session = await enterSession(connection, newRun)
    const isBusy = session.active_run !== newRun.requestId
    // The run of an event starts later in a job, even when its session is free.
    const messageIndex = isBusy || event ? null : session.message_count - 1
    await insertRun(connection, newRun, session, messageIndex)
    await insertDetails(connection, newRun, session.key)
    if (event && !isBusy) await moves.add(connection, { ...newRun, fence: 1 })
    if (messageIndex === null) return { kind: 'waiting', fence: 1 }
    // Only an empty session takes more than the last message. The session is locked, so no other run adds one.
    const hasOthers =
      messages.length > 1 &&
      session.key !== newRun.sessionKey &&
      (await statements.hasMessages(connection, { tenant, session: session.key })).rows.length > 0
    await moves.insertMessages(connection, tenant, session.key, messageIndex, hasOthers ? messages.slice(-1) : messages)
    return {
      kind: 'running',
      fence: 1,
      turn: { session: session.key, messageIndex, messageCount: session.message_count, ...toWindow(session) },
    }
  }

  /** Creates the session, or claims the session when no run is active. */
  async function enterSession(connection: Connection, newRun: NewRun): Promise<EnteredSession> {
    const { requestId, sessionId, afterMessages, shortName, event } = newRun
    const messages = event ? 0 : newRun.messages.length
    const { rows } = await statements.claimSession(connection, { ...newRun, shortName: toText(shortName), messages })
    const session = rows[0]!
    if (newRun.rejectsBusy && session.active_run !== requestId) throw sessionBusy(sessionId)
    const expected = afterMessages === undefined ? session.message_count : afterMessages + (messages === 0 ? 0 : 1)
    const isMoved = afterMessages !== undefined && session.active_run !== requestId
    if (isMoved || session.message_count !== expected) throw new SessionMoved(sessionId)
    return session
  }

  /** `messageIndex`: null for a run that waits. */
  async function insertRun(connection: Connection, newRun: NewRun, session: EnteredSession, messageIndex: number | null): Promise<void> {
    const { tenant, owner, sessionId } = newRun
    const activeRun = session.active_run === newRun.requestId ? undefined : (session.active_run ?? '')
    const [inserted, active] = await allSettledOrThrow([
      statements.insertArrived(connection, {
        ...toNewRunRow(newRun),
        acceptedBy: newRun.holder,
        // The run of an event is unclaimed until its job starts.
        holder: newRun.event ? '' : newRun.holder,
        session: session.key,
        status: messageIndex === null ? 'pending' : 'running',
        message_index: messageIndex,
      }),
      activeRun === undefined ? undefined : statements.statusOf(connection, { tenant, owner, requestId: activeRun }),
    ])
    if (inserted.rows.length === 0) throw new RequestKnown()
    // A run that waits for approval holds its session until the decision.
    if (active?.rows[0]?.status === 'interrupted') throw sessionInterrupted(sessionId, activeRun ?? '')
  }

  /** The rows beside the run. */
  async function insertDetails(connection: Connection, newRun: NewRun, session: string): Promise<void> {
    const { event, notifications: configs, now, images = [], files = [] } = newRun
    if (newRun.unstored) await markUnstored(db, connection, newRun, session)
    for (const [n, image] of images.entries()) await media.insert(connection, { ...newRun, ...image, session, n })
    for (const [n, file] of files.entries()) await media.insert(connection, { ...newRun, ...file, session, n: firstQuestionFile + n })
    if (event?.callbackUrl !== undefined) await events.addCallback(connection, newRun, { id: event.id, url: event.callbackUrl })
    if (configs) await addNotifications(connection, db, { key: newRun, configs, box, now })
  }

  return insert
}

type EnteredSession = Pick<SessionRow, 'key' | 'active_run' | 'message_count' | 'window_start' | 'summary'>
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
      .values(paramsOf(param, ['tenant', 'owner', 'event', 'request_id', 'session_id', 'created_at']))
      .onConflict((conflict) => conflict.columns(['tenant', 'owner', 'event']).doNothing())
      .returning('event'),
  )

  const insertCallback = statement(
    database,
    (db, param: Param<Pick<CallbackRow, 'tenant' | 'owner' | 'request_id' | 'event_id' | 'url' | 'created_at'>>) =>
      db.insertInto('callbacks').values({
        ...paramsOf(param, ['tenant', 'owner', 'request_id', 'event_id', 'url', 'created_at']),
        status: 'pending',
        attempts: '[]',
        round: 0,
        tries: 0,
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
      return (await insertEvent(connection, row)).rows.length > 0 ? undefined : findAccepted(connection, event)
    },

    /** Runs after the insert of the run, which may find the request id taken. */
    async addCallback(connection: Connection, newRun: NewRun, { id, url }: { id: string; url: string }): Promise<void> {
      await insertCallback(connection, { ...keyColumns(newRun), event_id: toText(id), url, created_at: newRun.now })
    },
  }
}

/** The unit of work that ends a run. */
function createUpdate({ database: { db }, statements, moves, messages, rounds, settle, recordActs }: Parts) {
  const media = mediaStatements(db)

  async function continueRun(connection: Connection, key: RunKey, { request, endedAt }: EndedRun): Promise<void> {
    const run = await moves.find(connection, key)
    if (run) await messages.continueWith(connection, run, request, endedAt)
  }

  return async (connection: Connection, { key, fence, ended, hourRow }: Ending) => {
    const { tenant, requestId } = key
    const { session, message, endedAt, continuable } = ended
    const [turn, { rows }] = await allSettledOrThrow([
      statements.endSessionTurn(connection, { ...ended, tenant, requestId, newMessages: message ? 1 : 0, now: endedAt }),
      statements.endRun(connection, { ...key, fence, ...toEndedRow(ended), error: json(ended.error) }),
    ])
    const [endedRun] = rows
    if (!endedRun) throw new FenceLost(key)
    const { owner, session_id, message_count = 0 } = turn.rows[0] ?? {}
    // The session was deleted meanwhile when there is no row; then no message is stored.
    const hasSession = owner !== undefined
    const isNotified = hasSession && endedRun.has_notifications !== null
    const artifacts = message?.data?.artifacts
    const origin = { tenant, owner: key.owner, session, session_id: session_id ?? '', request_id: requestId }
    if (hasSession && endedRun.open_messages !== null) await continueRun(connection, key, ended)
    const [next] = await allSettledOrThrow([
      hasSession ? moves.handOver(connection, { tenant, owner, session, requestId, now: endedAt }) : undefined,
      ended.hadCheckpoints && !continuable ? statements.deleteSteps(connection, key) : undefined,
      ended.dropsResultImages && !continuable ? media.deleteResultImages(connection, { tenant, session, requestId }) : undefined,
      ...ended.tools.map((use) => statements.insertTool(connection, { ...key, ...toToolRow(use, endedAt) })),
      message && hasSession ? moves.insertMessages(connection, tenant, session, message_count - 1, [message]) : undefined,
      artifacts && hasSession ? insertArtifacts(db, connection, origin, artifacts) : undefined,
      hasSession && ended.jobs.length > 0 ? moves.insertJobs(connection, ended.jobs) : undefined,
      isNotified ? rounds.begin(connection, key, endedAt) : undefined,
      // Last, because all runs of a tenant lock these rows at their end.
      statements.addMetrics(connection, toMetrics(tenant, ended, hourRow)),
      ended.settlements && settle(connection, attempts(tenant, ended.settlements)),
      ended.acts && recordActs(connection, key, ended.acts),
    ])
    return { next, isNotified }
  }
}
