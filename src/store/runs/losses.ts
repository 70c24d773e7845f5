import { sql } from 'kysely'
import type { Losses } from '../../runs/run-store.ts'
import { query, type Database } from '../database.ts'
import { parseJson } from '../rows.ts'
import type { Connection } from '../statement.ts'
import type { RunRow } from '../tables.ts'
import { whereChat } from './where-chat.ts'

/** The holder of a run whose process handed the run over. No process has this id, so any process may take over. */
const released = 'released'

/** Literal values, because the index of unended runs is not used with parameters. */
const isUnended = sql<boolean>`status in ('pending', 'running')`

/** The losses of a run whose process is lost, including this loss. No loss is added for a run in a session queue or one handed over. */
export function countLoss(row: Pick<RunRow, 'holder' | 'status' | 'losses'>, checkpoints: number): Losses | undefined {
  const before = parseJson<Losses>(row.losses)
  if (row.holder === released || row.status !== 'running') return before
  const count = before?.checkpoints === checkpoints ? before.count + 1 : 1
  return { count, checkpoints, holder: row.holder }
}

/** Hands over the unended runs of a stopping process. */
export async function releaseRuns({ db }: Database, connection: Connection, holder: string): Promise<void> {
  const handed = db.updateTable('runs').set({ holder: released }).where(isUnended).where(whereChat).where('holder', '=', holder)
  await query(connection, handed)
}

/** Takes back the losses counted for a process that was alive all the time and only cut off from the database. */
export async function forgiveLosses({ db, all }: Database, holder: string): Promise<void> {
  const counted = db.selectFrom('runs').select(['tenant', 'owner', 'request_id', 'losses']).where(isUnended).where('losses', 'is not', null)
  const { rows } = await query(all.read, counted)
  const forgiven = rows.flatMap((row) => {
    const losses = parseJson<Losses>(row.losses)
    return losses?.holder === holder ? [{ ...row, now: { count: losses.count - 1, checkpoints: losses.checkpoints } }] : []
  })
  if (forgiven.length === 0) return
  await all.unit(async (connection) => {
    for (const { now, ...row } of forgiven) {
      const update = db.updateTable('runs').set({ losses: JSON.stringify(now) })
      await query(
        connection,
        update.where((is) => is.and(row)),
      )
    }
  })
}
