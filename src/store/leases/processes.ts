import { sql, type RawBuilder } from 'kysely'
import { query, type Database, type Connection } from '../database.ts'
import type { Losses } from '../../runs/run-store.ts'
import { parseJson } from '../rows.ts'
import type { RunRow } from '../tables.ts'
import { whereChat } from '../runs/statements.ts'

/** What operators see of a process. */
export interface ProcessDescription {
  /** Epoch milliseconds. */
  startedAt: number
  host: string
  version: string
}

/** Leases of processes: a process owns its runs until its lease expires. Times are those of the database. */
export interface ProcessStore {
  /** Renews the lease for `leaseMs` milliseconds. */
  renew(id: string, leaseMs: number, process?: ProcessDescription): Promise<Renewal>
  /** Ends the lease of a stopping process, whose runs are handed over and not lost. */
  release(id: string): Promise<void>
  /** Takes back losses counted for a process that was alive all the time. */
  forgive(id: string): Promise<void>
}

export interface Renewal {
  /** True when the previous lease had not expired. */
  wasHeld: boolean
  /** True when this process, or no process with a lease, holds an unended run. */
  hasRuns: boolean
}

export function createProcessStore(database: Database): ProcessStore {
  const { db, all, postgres } = database
  const clock = clockOf(database)

  function statements(id: string, leaseMs: number, { startedAt, host, version }: Partial<ProcessDescription> = {}) {
    const alive_until = sql<number>`${clock} + ${sql.lit(leaseMs)}`
    const values = { id, alive_until, started_at: startedAt ?? null, host: host ?? null, version: version ?? null }
    const unended = sql`select 1 from runs where status in ('pending', 'running')
      and (holder = ${id} or holder not in (${aliveProcesses(database)}))`
    return {
      lease: db.selectFrom('processes').select('id').where('id', '=', id).where('alive_until', '>', clock),
      renewed: db
        .insertInto('processes')
        .values(values)
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ alive_until })),
      forgotten: db
        .deleteFrom('processes')
        .where('id', '<>', id)
        .where('alive_until', '<', sql<number>`${clock} - ${sql.lit(forgetMs)}`),
      hasRuns: sql<boolean | number>`exists (${unended})`,
    }
  }

  /** A single statement: an idle process does little else. */
  async function renewOnce(connection: Connection, ...args: Parameters<typeof statements>): Promise<Renewal> {
    const { lease, renewed, forgotten, hasRuns } = statements(...args)
    const renewal = db
      .with('lease', () => lease)
      .with('renewed', () => renewed)
      .with('forgotten', () => forgotten)
      .selectNoFrom([sql<boolean>`exists (select from lease)`.as('wasHeld'), hasRuns.as('hasRuns')])
    const { rows } = await query(connection, renewal)
    return { wasHeld: rows[0]!.wasHeld, hasRuns: Boolean(rows[0]!.hasRuns) }
  }

  async function renew(connection: Connection, ...args: Parameters<typeof statements>): Promise<Renewal> {
    const { lease, renewed, forgotten, hasRuns } = statements(...args)
    const held = await query(connection, lease)
    await query(connection, renewed)
    await query(connection, forgotten)
    const { rows } = await query(connection, db.selectNoFrom(hasRuns.as('hasRuns')))
    return { wasHeld: held.rows.length > 0, hasRuns: Boolean(rows[0]!.hasRuns) }
  }

  return {
    renew: postgres
      ? (...lease) => renewOnce(postgres.writeOnce, ...lease)
      : (...lease) => all.unit((connection) => renew(connection, ...lease)),
    async release(id) {
      await database.all.unit(async (connection) => {
        await releaseRuns(database, connection, id)
        await query(connection, db.deleteFrom('processes').where('id', '=', id))
      })
    },
    forgive: (id) => forgiveLosses(database, id),
  }
}

/** Epoch milliseconds of the database, because the clocks of machines differ. */
export function clockOf({ isShared }: Pick<Database, 'isShared'>): RawBuilder<number> {
  return isShared
    ? sql<number>`(extract(epoch from statement_timestamp()) * 1000)::bigint`
    : sql<number>`cast(unixepoch('subsec') * 1000 as integer)`
}

/** Selects the ids of processes whose lease is valid, or expired less than `graceMs` ago. */
export function aliveProcesses(database: Pick<Database, 'db' | 'isShared'>, graceMs = 0) {
  const since = sql<number>`${clockOf(database)} - ${sql.lit(graceMs)}`
  return database.db.selectFrom('processes').select('id').where('alive_until', '>', since)
}

/** Expired leases are deleted after this time, in milliseconds. */
const forgetMs = 24 * 3_600_000

/** Grace longer than any stored lease: with this grace only released processes count as lost. */
export const untilForgottenMs = 2 * forgetMs

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
