import { sql } from 'kysely'
import type { Image } from '../../agent/messages.ts'
import type { RunKey } from '../../runs/run.ts'
import {
  FenceLost,
  SessionMoved,
  runGone,
  sessionInterrupted,
  type Begun,
  type Checkpoint,
  type EndedRun,
  type HistoryMessage,
  type NewRun,
  type NextRun,
  type RunStore,
  type StoredRun,
  type Turn,
} from '../../runs/run-store.ts'
import { runApprovals } from './run-approvals.ts'
import { asyncEvents } from './async-events.ts'
import { query, type Database } from '../database.ts'
import { firstQuestionFile, imageKey } from '../../runs/attachments/result-images.ts'
import { imagesOf, mediaAt, mediaStatements } from './media-statements.ts'
import { runMoves } from './moves.ts'
import { addNotifications, createRounds, type NotificationStoreOptions } from './notifications.ts'
import { insertArtifacts } from '../sessions/artifacts.ts'
import { runOwners } from './owners.ts'
import { createEmbeddedChat } from './embedded-chat.ts'
import { createGroupedChat } from './grouped-chat.ts'
import type { Ending, FastPath } from './simple-chat.ts'
import { json, parseJson, rowsPerHour, toStoredRun, toText, toWindow } from '../rows.ts'
import { toEndedRow, toMetrics, toNewRunRow, toToolRows } from './columns.ts'
import { runStatements } from './statements.ts'
import { createTakeOver } from './take-over.ts'
import { markUnstored } from './unstored.ts'
import { allSettledOrThrow, type Connection } from '../statement.ts'
import { plainBox } from '../secrets/secret-box.ts'
import { isChat } from './where-chat.ts'
import { reachState } from '../../states.ts'

/** The request id is taken. Thrown inside of the unit to roll back its changes. */
class RequestKnown extends Error {}

/** `RunStore` on either database. */
export function createRunStore(database: Database, { box = plainBox, wake = () => undefined }: NotificationStoreOptions = {}): RunStore {
  const statements = runStatements(database.db, database.isShared)
  const media = mediaStatements(database.db)
  const events = asyncEvents(database.db)
  const rounds = createRounds(database, wake)
  const moves = runMoves(database, statements)
  const { insertMessages, handOver, add, insertJobs, prepare } = moves
  const fastPath = createFastPath(database)
  /** Number of runs of this process that are storing their end. */
  let endingRuns = 0

  async function begin(newRun: NewRun, onCommitted?: (turn: Turn) => void): Promise<Begun> {
    const attempt = await fastPath?.begin(newRun, onCommitted)
    if (attempt?.kind === 'done') return attempt.result
    if (newRun.event) await prepare()
    try {
      return await database.forTenant(newRun.tenant).unit((connection) => insert(connection, newRun), {
        onCommitted: (begun) => begun.kind === 'running' && onCommitted?.(begun.turn),
      })
    } catch (error) {
      if (!(error instanceof RequestKnown)) throw error
      const storedRun = await findRequest(newRun)
      const begunByUs = storedRun && attempt?.kind === 'unknown' && (await fastPath?.findBegun?.(newRun, storedRun))
      if (begunByUs) {
        reachState('begin-found')
        return begunByUs
      }
      if (storedRun) return { kind: 'known', run: storedRun }
      // The stored run left its queue in the meantime, so the request id is free again.
      return begin(newRun, onCommitted)
    }
  }

  async function insert(connection: Connection, newRun: NewRun): Promise<Begun> {
    const accepted = newRun.event && (await events.accept(connection, newRun, newRun.event))
    if (accepted) return { kind: 'accepted', as: accepted }
    // The run of an event starts later in a job, even when its session is free.
    const messages = newRun.event ? 0 : newRun.messages.length
    const { rows } = await statements.claimSession(connection, { ...newRun, shortName: toText(newRun.shortName), messages })
    const session = rows[0]!
    const isOurs = session.active_run === newRun.requestId && !newRun.event
    const messageIndex = isOurs ? session.message_count - 1 : null
    const row = {
      ...toNewRunRow(newRun),
      // The run of an event is unclaimed until its job starts.
      holder: newRun.event ? '' : newRun.holder,
      session: session.key,
      status: isOurs ? 'running' : 'pending',
      message_index: messageIndex,
    }
    const { tenant, owner } = newRun
    const isBusy = session.active_run !== newRun.requestId
    const { afterMessages } = newRun
    if (afterMessages !== undefined && (isBusy || session.message_count !== (messages === 0 ? afterMessages : afterMessages + 1)))
      throw new SessionMoved(newRun.sessionId)
    const [inserted, active] = await allSettledOrThrow([
      statements.insertRun(connection, row),
      isBusy ? statements.statusOf(connection, { tenant, owner, requestId: session.active_run ?? '' }) : undefined,
    ])
    if (inserted.rows.length === 0) throw new RequestKnown()
    // A run that waits for approval holds its session until the decision.
    if (active?.rows[0]?.status === 'interrupted') throw sessionInterrupted(newRun.sessionId, session.active_run ?? '')
    if (newRun.unstored) await markUnstored(database.db, connection, newRun, session.key)
    for (const [n, image] of (newRun.images ?? []).entries())
      await media.insert(connection, { ...newRun, ...image, session: session.key, n })
    for (const [index, file] of (newRun.files ?? []).entries())
      await media.insert(connection, { ...newRun, ...file, session: session.key, n: firstQuestionFile + index })
    if (newRun.event) await events.addCallback(connection, newRun, newRun.event)
    if (newRun.notifications) {
      const { notifications: configs, now } = newRun
      await addNotifications(connection, database.db, { key: newRun, configs, box, now })
    }
    if (newRun.event && session.active_run === newRun.requestId) await add(connection, { ...newRun, fence: 1 })
    if (messageIndex === null) return { kind: 'waiting', fence: 1 }
    const stored = (await storesAllMessages(connection, newRun, session.key)) ? newRun.messages : newRun.messages.slice(-1)
    await insertMessages(connection, newRun.tenant, session.key, messageIndex, stored)
    const turn = { session: session.key, messageIndex, messageCount: session.message_count, ...toWindow(session) }
    return { kind: 'running', fence: 1, turn }
  }

  /** True when all messages of the request are stored: only an empty session takes more than the last message. Needs the session's lock. */
  async function storesAllMessages(connection: Connection, { tenant, messages, sessionKey }: NewRun, session: string): Promise<boolean> {
    if (messages.length === 1 || session === sessionKey) return true
    return (await statements.hasMessages(connection, { tenant, session })).rows.length === 0
  }

  async function find(key: RunKey): Promise<StoredRun | undefined> {
    const run = await findRequest(key)
    return run && isChat(run) ? run : undefined
  }

  async function findRequest(key: RunKey): Promise<StoredRun | undefined> {
    const { rows } = await statements.findRow(database.forTenant(key.tenant).read, key)
    if (rows[0]?.status === 'gone') throw runGone(key)
    return rows[0] && toStoredRun(rows[0])
  }

  async function finish(key: RunKey, fence: number, ended: EndedRun): Promise<NextRun | undefined> {
    // Runs that end at the same time are counted in different rows.
    const hourRow = database.isShared ? endingRuns % rowsPerHour : 0
    endingRuns += 1
    try {
      return await finishOnce({ key, fence, ended, hourRow })
    } finally {
      endingRuns -= 1
      rounds.end(key)
    }
  }

  async function finishOnce(end: Ending): Promise<NextRun | undefined> {
    const { key, fence, ended } = end
    const attempt = await fastPath?.finish(end)
    if (attempt?.kind === 'done') return undefined
    try {
      return await finishByStep(end)
    } catch (error) {
      if (!(attempt?.kind === 'unknown' && error instanceof FenceLost)) throw error
      const stored = await find(key)
      if (stored?.fence !== fence || stored.endedAt !== ended.endedAt) throw error
      return undefined
    }
  }

  function finishByStep({ key, fence, ended, hourRow }: Ending): Promise<NextRun | undefined> {
    const { tenant, requestId } = key
    const { session, message, messageCount } = ended
    const work = async (connection: Connection) => {
      const [turn, { rows }] = await allSettledOrThrow([
        statements.endSessionTurn(connection, { ...ended, tenant, requestId, now: ended.endedAt }),
        statements.endRun(connection, { ...key, fence, ...toEndedRow(ended), error: json(ended.error) }),
      ])
      const [endedRun] = rows
      if (!endedRun) throw new FenceLost(key)
      const { owner, session_id } = turn.rows[0] ?? {}
      // The session was deleted meanwhile when there is no row; then no message is stored.
      const hasSession = owner !== undefined
      const artifacts = message?.data?.artifacts
      const origin = { tenant, owner: key.owner, session, session_id: session_id ?? '', request_id: requestId }
      const [next] = await allSettledOrThrow([
        hasSession ? handOver(connection, { tenant, owner, session, requestId, now: ended.endedAt }) : undefined,
        ended.hadCheckpoints && !ended.continuable ? statements.deleteSteps(connection, key) : undefined,
        ended.dropsResultImages && !ended.continuable ? media.deleteResultImages(connection, { tenant, session, requestId }) : undefined,
        ...toToolRows(ended).map((row) => statements.insertTool(connection, { ...key, ...row })),
        message && hasSession ? insertMessages(connection, tenant, session, messageCount - 1, [message]) : undefined,
        artifacts && hasSession ? insertArtifacts(database.db, connection, origin, artifacts) : undefined,
        hasSession && ended.jobs.length > 0 ? insertJobs(connection, ended.jobs) : undefined,
        hasSession && endedRun.has_notifications ? rounds.begin(connection, key, ended.endedAt) : undefined,
        // Last, because all runs of a tenant lock this row at their end.
        statements.addMetrics(connection, toMetrics(tenant, ended, hourRow)),
      ])
      return next
    }
    return database.forTenant(tenant).unit(work, runRetry)
  }

  async function readHistory(
    connection: Connection,
    tenant: string,
    session: string,
    from: number,
    limit?: number,
  ): Promise<HistoryMessage[]> {
    const reading =
      limit === undefined
        ? statements.history(connection, { tenant, session, from })
        : statements.historyPart(connection, { tenant, session, from, limit })
    const { rows } = await reading
    return rows.map((row) => ({ idx: row.idx, role: row.role, content: row.content, data: parseJson(row.data) }))
  }

  return {
    begin,
    find,
    findRequest,
    finish,
    findEvent: ({ tenant, owner }, event) => events.find(database.forTenant(tenant).read, { tenant, owner, event }),
    ...createTakeOver(database, statements, moves, rounds),
    ...runApprovals(database, statements, moves, rounds),
    ...runOwners(database),
    addMissingJobs: moves.requeue,
    history: (tenant, ...part) => readHistory(database.forTenant(tenant).read, tenant, ...part),
    historyOfRun: (tenant, ...part) => readHistory(database.embedded?.readCommitted ?? database.forTenant(tenant).read, tenant, ...part),
    async images(tenant, session, requestIds) {
      const { rows } = await query(database.forTenant(tenant).read, imagesOf(database.db, tenant, session, requestIds))
      const imagesByRun = new Map<string, Image[]>()
      for (const { request_id, media_type: mediaType, data } of rows) {
        imagesByRun.set(request_id, [...(imagesByRun.get(request_id) ?? []), { mediaType, data }])
      }
      return imagesByRun
    },
    async mediaBytes(tenant, session, places) {
      if (places.length === 0) return new Map()
      const { rows } = await query(database.forTenant(tenant).read, mediaAt(database.db, tenant, session, places))
      return new Map(rows.map(({ requestId, n, data }) => [imageKey({ requestId, n }), data]))
    },
    keepResultImages: (key, fence, session, images) =>
      database.forTenant(key.tenant).unit(async (connection) => {
        if ((await statements.holdRun(connection, { ...key, fence })).rows.length === 0) throw new FenceLost(key)
        const { tenant, requestId } = key
        for (const { n, mediaType, data } of images) await media.replace(connection, { tenant, session, requestId, n, mediaType, data })
      }, runRetry),
    checkpoint: (key, fence, n, data) =>
      database.forTenant(key.tenant).unit(async (connection) => {
        const { rows } = await statements.keepStep(connection, { ...key, fence, n, data: JSON.stringify(data) })
        if (rows.length === 0) throw new FenceLost(key)
      }, runRetry),
    async countUnclaimed() {
      const waiting = database.db
        .selectFrom('runs')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        // Literal values, because the index of unended runs is not used with parameters.
        .where(sql<boolean>`status in ('pending', 'running')`)
        .where(sql<boolean>`status = 'pending'`)
        .where('holder', '=', '')
      return (await query(database.all.read, waiting)).rows[0]!.count
    },
    async checkpoints(key) {
      const { rows } = await statements.stepsOf(database.forTenant(key.tenant).read, key)
      return rows.map((row) => JSON.parse(row.data) as Checkpoint)
    },
  }
}

function createFastPath(database: Database): FastPath | undefined {
  if (database.postgres) return createGroupedChat(database, database.postgres)
  return database.embedded && createEmbeddedChat(database.db, database.embedded)
}

/** A started run waits long for an unreachable database: no other process could resume the run either. */
const runRetry = { retryForMs: 60_000 }
