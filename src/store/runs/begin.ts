import { SessionMoved, sessionInterrupted, type Begun, type NewRun, type RunStore, type Turn } from '../../runs/run-store.ts'
import { firstQuestionFile } from '../../runs/attachments/result-images.ts'
import { reachState } from '../../states.ts'
import type { Database } from '../database.ts'
import { toText, toWindow } from '../rows.ts'
import { allSettledOrThrow, type Connection } from '../statement.ts'
import type { SessionRow } from '../tables.ts'
import { asyncEvents } from './async-events.ts'
import { toNewRunRow } from './columns.ts'
import { mediaStatements } from './media.ts'
import type { RunMoves } from '../queue/moves.ts'
import { addNotifications, type NotificationStoreOptions } from './notifications.ts'
import type { FastPath } from './simple-chat.ts'
import type { RunStatements } from './statements.ts'
import { markUnstored } from './unstored.ts'

/** The request id is taken. Thrown inside of the unit to roll back its changes. */
class RequestKnown extends Error {}

/** What a begin works with. */
interface BeginParts {
  database: Database
  statements: RunStatements
  moves: RunMoves
  fastPath: FastPath | undefined
  box: NonNullable<NotificationStoreOptions['box']>
  findRequest: RunStore['findRequest']
}

/** Begins runs: simple chats on the fast path, all others step by step. */
export function createBegin(parts: BeginParts): RunStore['begin'] {
  const { database, moves, fastPath, findRequest } = parts
  const insert = createInsert(parts)

  async function begin(newRun: NewRun, onCommitted?: (turn: Turn) => void): Promise<Begun> {
    const attempt = await fastPath?.begin(newRun, onCommitted)
    if (attempt?.kind === 'done') return attempt.result
    if (newRun.event) await moves.prepare()
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

  return begin
}

/** The unit of work that begins a run step by step. */
function createInsert({ database: { db }, statements, moves, box }: BeginParts) {
  const media = mediaStatements(db)
  const events = asyncEvents(db)

  async function insert(connection: Connection, newRun: NewRun): Promise<Begun> {
    const accepted = newRun.event && (await events.accept(connection, newRun, newRun.event))
    if (accepted) return { kind: 'accepted', as: accepted }
    const session = await enterSession(connection, newRun)
    const isBusy = session.active_run !== newRun.requestId
    // The run of an event starts later in a job, even when its session is free.
    const messageIndex = isBusy || newRun.event ? null : session.message_count - 1
    await insertRun(connection, newRun, session, messageIndex)
    await insertDetails(connection, newRun, session.key)
    if (newRun.event && !isBusy) await moves.add(connection, { ...newRun, fence: 1 })
    if (messageIndex === null) return { kind: 'waiting', fence: 1 }
    const stored = (await storesAllMessages(connection, newRun, session.key)) ? newRun.messages : newRun.messages.slice(-1)
    await moves.insertMessages(connection, newRun.tenant, session.key, messageIndex, stored)
    const turn = { session: session.key, messageIndex, messageCount: session.message_count, ...toWindow(session) }
    return { kind: 'running', fence: 1, turn }
  }

  /** Creates the session, or claims the session when no run is active. */
  async function enterSession(connection: Connection, newRun: NewRun): Promise<EnteredSession> {
    const { requestId, sessionId, afterMessages, shortName, event } = newRun
    const messages = event ? 0 : newRun.messages.length
    const { rows } = await statements.claimSession(connection, { ...newRun, shortName: toText(shortName), messages })
    const session = rows[0]!
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
      statements.insertRun(connection, {
        ...toNewRunRow(newRun),
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
    const { event, notifications: configs, now } = newRun
    if (newRun.unstored) await markUnstored(db, connection, newRun, session)
    for (const [n, image] of (newRun.images ?? []).entries()) await media.insert(connection, { ...newRun, ...image, session, n })
    for (const [index, file] of (newRun.files ?? []).entries())
      await media.insert(connection, { ...newRun, ...file, session, n: firstQuestionFile + index })
    if (event) await events.addCallback(connection, newRun, event)
    if (configs) await addNotifications(connection, db, { key: newRun, configs, box, now })
  }

  /** True when all messages of the request are stored: only an empty session takes more than the last message. Needs the session's lock. */
  async function storesAllMessages(connection: Connection, { tenant, messages, sessionKey }: NewRun, session: string): Promise<boolean> {
    if (messages.length === 1 || session === sessionKey) return true
    return (await statements.hasMessages(connection, { tenant, session })).rows.length === 0
  }

  return insert
}

type EnteredSession = Pick<SessionRow, 'key' | 'active_run' | 'message_count' | 'window_start' | 'summary'>
