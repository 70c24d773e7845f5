import { FenceLost, type EndedRun, type NextRun, type RunStore } from '../../runs/run-store.ts'
import type { RunKey } from '../../runs/run.ts'
import type { Database } from '../database.ts'
import { json, rowsPerHour } from '../rows.ts'
import { insertArtifacts } from '../sessions/artifacts.ts'
import { allSettledOrThrow, type Connection } from '../statement.ts'
import { toEndedRow, toMetrics, toToolRows } from './columns.ts'
import { mediaStatements } from './media.ts'
import type { RunMoves } from '../queue/moves.ts'
import type { Rounds } from './notifications.ts'
import { runRetry, type Ending, type FastPath } from './simple-chat.ts'
import type { RunStatements } from './statements.ts'

/** What an end works with. */
interface EndParts {
  database: Database
  statements: RunStatements
  moves: RunMoves
  fastPath: FastPath | undefined
  rounds: Rounds
  find: RunStore['find']
}

/** Ends runs: simple chats on the fast path, all others step by step. */
export function createFinish({ database, statements, moves, fastPath, rounds, find }: EndParts): RunStore['finish'] {
  const { db } = database
  const media = mediaStatements(db)
  /** Number of runs of this process that are storing their end. */
  let endingRuns = 0

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
        hasSession ? moves.handOver(connection, { tenant, owner, session, requestId, now: ended.endedAt }) : undefined,
        ended.hadCheckpoints && !ended.continuable ? statements.deleteSteps(connection, key) : undefined,
        ended.dropsResultImages && !ended.continuable ? media.deleteResultImages(connection, { tenant, session, requestId }) : undefined,
        ...toToolRows(ended).map((row) => statements.insertTool(connection, { ...key, ...row })),
        message && hasSession ? moves.insertMessages(connection, tenant, session, messageCount - 1, [message]) : undefined,
        artifacts && hasSession ? insertArtifacts(db, connection, origin, artifacts) : undefined,
        hasSession && ended.jobs.length > 0 ? moves.insertJobs(connection, ended.jobs) : undefined,
        hasSession && endedRun.has_notifications ? rounds.begin(connection, key, ended.endedAt) : undefined,
        // Last, because all runs of a tenant lock this row at their end.
        statements.addMetrics(connection, toMetrics(tenant, ended, hourRow)),
      ])
      return next
    }
    return database.forTenant(tenant).unit(work, runRetry)
  }

  return finish
}
