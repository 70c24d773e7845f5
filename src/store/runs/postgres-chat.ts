import { ServiceError } from '../../errors.ts'
import {
  FenceLost,
  type Begun,
  type NewMessage,
  type NewRun,
  type NextRun,
  type RunStore,
  type StoredRun,
  type Turn,
} from '../../runs/run-store.ts'
import { reachState } from '../../states.ts'
import { CommitUnknown, query, type Database, type PostgresServer, type Result } from '../database.ts'
import { isSimpleBegin, rowsPerHour, simpleAnswer } from '../rows.ts'
import { createChatGroups, toRowJson, type Attempt } from './chat-groups.ts'
import { isUnpaid } from '../budgets/postgres-hold.ts'
import { beginGroup, beginGroupWithHolds, beginStatement, toBegun, toBeginRow, toBeginValues, type BegunRow } from './postgres-begin.ts'
import { endGroup, endGroupWithSettlements, endStatement, toEndRow, toEndValues } from './postgres-end.ts'
import type { ChatStore, Ending } from './step-by-step.ts'

/**
 * Begins and ends simple chats on Postgres, and leaves all others to `byStep`: the chats that begin or end at the same time share one statement (group commit), and a single chat
 * has a statement of its own. Processor time of a begin and an end together, in microseconds of the service + of Postgres:
 *
 * | Clients | Step by step | A statement each | In groups  |
 * |--------:|-------------:|-----------------:|-----------:|
 * |       1 |   920 + 1135 |       508 + 1000 | as before  |
 * |      16 |   465 + 1262 |       197 +  936 | 111 +  409 |
 * |      64 |   490 + 1401 |       203 + 1034 |  48 +  264 |
 *
 * A group of one costs more than the statement of a single chat: 730 instead of 520 microseconds of Postgres, even with a kept plan, and 2160 with
 * a plan for each execution, which a group of many needs (see `PostgresServer.writeGroup`).
 */
export function createPostgresChat(
  database: Database,
  { writeGroup }: PostgresServer,
  byStep: ChatStore & { end(ending: Ending): Promise<NextRun | undefined> },
  find: RunStore['find'],
): ChatStore {
  const { db, forTenant } = database
  const beginAlone = beginStatement(db)
  const beginAloneWithHold = beginStatement(db, { holds: true })
  const endAlone = endStatement(db)
  const endAloneWithSettlements = endStatement(db, { settles: true })
  /** Number of local runs that are storing the end. */
  let endingRuns = 0

  const joinBegin = createChatGroups<BegunRow>(async (tenant, rows) => {
    const begun = await writeGroup(tenant).execute<BegunRow & { n: number }>(beginGroup, [tenant, rows])
    return new Map(begun.rows.map((row) => [row.n - 1, row]))
  })
  const joinBeginWithHold = createChatGroups<BegunRow>(async (tenant, rows) => {
    const { rows: begun } = await writeGroup(tenant).execute<BegunRow & { n: number | null }>(beginGroupWithHolds, [tenant, rows])
    const { windows } = begun.pop()!
    return new Map(begun.map((row) => [row.n! - 1, { ...row, windows }]))
  })

  const endsOf = (group: string) =>
    createChatGroups<unknown>(async (tenant, rows) => {
      // Groups of several processes are counted in different rows, so that they rarely wait for each other.
      const hourRow = Math.floor(Math.random() * rowsPerHour)
      const ended = await writeGroup(tenant).execute<{ n: number }>(group, [tenant, rows, hourRow])
      return new Map(ended.rows.map(({ n }) => [n - 1, true]))
    })
  const joinEnd = endsOf(endGroup)
  const joinEndWithSettlements = endsOf(endGroupWithSettlements)

  async function begin(newRun: NewRun, onCommitted?: (turn: Turn) => void): Promise<Begun> {
    const attempt = await tryBegin(newRun)
    if (attempt.kind === 'done') return toBegun(attempt.result, newRun)
    const begun = await byStep.begin(newRun, onCommitted)
    const begunBefore = attempt.kind === 'unknown' && begun.kind === 'known' && (await findBegun(newRun, begun.run))
    if (!begunBefore) return begun
    reachState('begin-found')
    return begunBefore
  }

  /** `unchanged` when the run is not simple, or when the session is busy. */
  function tryBegin(newRun: NewRun): Promise<Attempt<BegunRow>> {
    const [message] = newRun.messages
    if (!message || !isSimpleBegin(newRun)) return unchanged
    const { tenant, owner, requestId, sessionId, reservation } = newRun
    const alone = () => tryAlone(newRun, message)
    const row = toRowJson(toBeginRow(newRun, message))
    const keys = [`run ${requestId} ${owner}`, `session ${sessionId} ${owner}`]
    return row === undefined ? alone() : (reservation ? joinBeginWithHold : joinBegin)(tenant, { row, keys, alone })
  }

  /** A run whose reservation a budget cannot pay begins without the reservation. */
  async function tryAlone(newRun: NewRun, message: NewMessage): Promise<Attempt<BegunRow>> {
    const { write } = forTenant(newRun.tenant)
    const values = toBeginValues(newRun, message)
    try {
      return await firstRow((newRun.reservation ? beginAloneWithHold : beginAlone)(write, values))
    } catch (error) {
      if (!isUnpaid(error)) throw error
      return firstRow(beginAlone(write, values))
    }
  }

  /** Resolves an `unknown` begin: the run stored with the request id is the begun one when this process holds it. */
  async function findBegun(newRun: NewRun, { session: key, ...run }: StoredRun): Promise<Begun | undefined> {
    const { tenant, holder, reservation } = newRun
    if (run.holder !== holder || run.fence !== 1 || run.status !== 'running' || key === undefined) return undefined
    const { read } = forTenant(tenant)
    const session = db.selectFrom('sessions').select(['key', 'message_count', 'window_start', 'summary']).where('key', '=', key)
    const { rows } = await query(read, session.where('tenant', '=', tenant))
    const begun = rows[0] && toBegun(rows[0], newRun)
    if (!reservation || begun?.kind !== 'running') return begun
    const held = db.selectFrom('budget_reservations').select('id').where('tenant', '=', tenant).where('id', '=', reservation.id)
    const isHeld = (await query(read, held)).rows.length > 0
    return isHeld ? { ...begun, turn: { ...begun.turn, held: { reservation, states: [] } } } : begun
  }

  async function finish(...[key, fence, ended]: Parameters<RunStore['finish']>) {
    // Runs that end at the same time are counted in different rows.
    const ending = { key, fence, ended, hourRow: endingRuns++ % rowsPerHour }
    let attempt: Attempt<unknown> | undefined
    try {
      attempt = await tryFinish(ending)
      return attempt.kind === 'done' ? undefined : await byStep.end(ending)
    } catch (error) {
      if (!(attempt?.kind === 'unknown' && error instanceof FenceLost)) throw error
      const stored = await find(key)
      if (stored?.fence !== fence || stored.endedAt !== ended.endedAt) throw error
      return undefined
    } finally {
      endingRuns -= 1
    }
  }

  /** `unchanged` when the run is not simple or has notifications, or when another run waits for the session. */
  function tryFinish(ending: Ending): Promise<Attempt<unknown>> {
    const { tenant } = ending.key
    const message = simpleAnswer(ending.ended)
    if (!message) return unchanged
    // An unreachable database counts as `unknown`: the caller retries for longer than this statement.
    const { settlements, session } = ending.ended
    const store = settlements ? endAloneWithSettlements : endAlone
    const alone = () => firstRow(store(forTenant(tenant).write, toEndValues(ending, message))).catch(unlessAway)
    const row = toRowJson(toEndRow(ending, message))
    return row === undefined ? alone() : (settlements ? joinEndWithSettlements : joinEnd)(tenant, { row, keys: [session], alone })
  }

  return { begin, finish }
}

/** The outcome `unchanged`. */
const unchanged: Promise<{ kind: 'unchanged' }> = Promise.resolve({ kind: 'unchanged' })

/** The first row; `unchanged` where there is none, or where the database refuses what would break a constraint. */
async function firstRow<R>(result: Promise<Result<R>>): Promise<Attempt<R>> {
  try {
    const row = (await result).rows[0]
    return row ? { kind: 'done', result: row } : unchanged
  } catch (error) {
    if (error instanceof CommitUnknown) return { kind: 'unknown' }
    if (error instanceof Error && 'code' in error && refusals.has(error.code)) return unchanged
    throw error
  }
}

function unlessAway(error: unknown): { kind: 'unknown' } {
  if (error instanceof ServiceError && error.code === 'store_unavailable') return { kind: 'unknown' }
  throw error
}

/** SQLSTATE codes: unique_violation and not_null_violation. */
const refusals = new Set<unknown>(['23505', '23502'])
