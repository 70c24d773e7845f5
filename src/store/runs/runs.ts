import { sql } from 'kysely'
import { FenceLost, runGone, type Checkpoint, type RunStore, type StoredRun } from '../../runs/run-store.ts'
import type { RunKey } from '../../runs/run.ts'
import { allSettledOrThrow, query, type Database } from '../database.ts'
import { isChat, toStoredRun } from '../rows.ts'
import { plainBox } from '../secrets/secret-box.ts'
import { attempts, createSettle, type Settle } from '../budgets/settle.ts'
import { createHistory } from './history.ts'
import { runMedia } from './media.ts'
import { createRecordActs, type RecordActs } from './acts.ts'
import { createMessageStore, messageMoves, type MessageMoves } from './messages.ts'
import { runMoves } from '../queue/moves.ts'
import { createRounds, type NotificationStoreOptions } from './notifications.ts'
import { createPostgresChat } from './postgres-chat.ts'
import { runApprovals } from './run-approvals.ts'
import { createSqliteChat } from './sqlite-chat.ts'
import { runRetry, runStatements, whereChat, type RunStatements } from './statements.ts'
import { asyncEvents, createRunInsert, createStepByStep, type RunInsert } from './step-by-step.ts'
import { createTakeOver } from '../queue/take-over.ts'

/** `RunStore` on either database. */
export function createRunStore(database: Database, { box = plainBox, wake = () => undefined }: NotificationStoreOptions = {}): RunStore {
  const statements = runStatements(database.db, database.isShared)
  const events = asyncEvents(database.db)
  const rounds = createRounds(database, wake)
  const moves = runMoves(database, statements)
  const settle = createSettle(database)
  const messages = messageMoves(database, statements, moves)
  const recordActs = createRecordActs(database)
  const { find, findRequest } = createFind(database, statements)
  const byStep = createStepByStep({ database, statements, moves, messages, rounds, settle, recordActs, box, findRequest })
  const { db, postgres, embedded } = database
  const steps = runSteps(database, statements, { settle, recordActs, ...messages })
  const simple = postgres
    ? createPostgresChat(database, postgres, byStep, find)
    : embedded && createSqliteChat(db, embedded, { ...byStep, ...steps })
  const { begin, finish } = simple ?? byStep
  const { wasEnded, ...history } = createHistory(database, statements)
  return {
    find,
    findRequest,
    findEvent: ({ tenant, owner }, event) => events.find(database.forTenant(tenant).read, { tenant, owner, event }),
    ...createTakeOver(database, statements, { ...moves, ...messages }, rounds),
    ...runApprovals(database, statements, { ...moves, settle, recordActs }, rounds),
    ...runMedia(database, statements),
    ...history,
    ...steps,
    ...simple,
    begin,
    finish: (key, fence, ended) => finish(key, fence, ended).then((next) => (wasEnded(key, fence, ended), next)),
    ...createMessageStore(database, moves),
    ...runOwners(database),
    addMissingJobs: moves.requeue,
    countUnclaimed: () => countUnclaimed(database),
  }
}

/** Begins runs as a part of other units of work. */
export function openRunInsert(database: Database, { box = plainBox }: NotificationStoreOptions = {}): RunInsert {
  const statements = runStatements(database.db, database.isShared)
  return createRunInsert({ database, statements, moves: runMoves(database, statements), box })
}

function createFind({ forTenant }: Database, { findRow }: RunStatements): Pick<RunStore, 'find' | 'findRequest'> {
  async function findRequest(key: RunKey): Promise<StoredRun | undefined> {
    const { rows } = await findRow(forTenant(key.tenant).read, key)
    if (rows[0]?.status === 'gone') throw runGone(key)
    return rows[0] && toStoredRun(rows[0])
  }

  async function find(key: RunKey): Promise<StoredRun | undefined> {
    const run = await findRequest(key)
    return run && isChat(run) ? run : undefined
  }

  return { find, findRequest }
}

function runSteps(
  { forTenant }: Database,
  { keepStep, stepsOf }: RunStatements,
  { settle, recordActs, extendSession, markDelivered }: MessageMoves & { settle: Settle; recordActs: RecordActs },
): Pick<RunStore, 'checkpoint' | 'checkpoints'> {
  return {
    checkpoint: (key, fence, n, data, { settlements, delivery, acts } = {}) =>
      forTenant(key.tenant).unit(async (connection) => {
        if (delivery) await extendSession(connection, key, delivery)
        const needsLedger = typeof acts === 'function'
        // Events share the round trip of the step. A lost fence undoes both.
        const [{ rows }] = await allSettledOrThrow([
          keepStep(connection, { ...key, fence, n, data: JSON.stringify(data) }),
          needsLedger ? undefined : recordActs(connection, key, acts),
        ])
        if (rows.length === 0) throw new FenceLost(key)
        if (needsLedger) await recordActs(connection, key, acts)
        if (delivery) await markDelivered(connection, key, delivery)
        if (settlements) await settle(connection, attempts(key.tenant, settlements))
      }, runRetry),

    async checkpoints(key) {
      const { rows } = await stepsOf(forTenant(key.tenant).read, key)
      return rows.map((row) => JSON.parse(row.data) as Checkpoint)
    },
  }
}

async function countUnclaimed({ db, all }: Database): Promise<number> {
  const waiting = db
    .selectFrom('runs')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    // Literal values, because the index of unended runs is not used with parameters.
    .where(sql<boolean>`status in ('pending', 'running')`)
    .where(sql<boolean>`status = 'pending'`)
    .where('holder', '=', '')
  return (await query(all.read, waiting)).rows[0]!.count
}

/** The part of `RunStore` that finds runs of a tenant by request id only. The primary key of `runs` begins with tenant and request id. */
function runOwners(database: Database): Pick<RunStore, 'ownersOf'> {
  return {
    async ownersOf({ tenant, owner, requestId }, { issuer, sub }) {
      const ownFirst = sql`case when owner = ${owner} then 0 else 1 end`
      const owners = database.db
        .selectFrom('runs')
        .select('owner')
        .where('tenant', '=', tenant)
        .where('request_id', '=', requestId)
        .where(whereChat)
        .where((is) => is.and([...(issuer === undefined ? [] : [hasIssuer(issuer)]), ...(sub === undefined ? [] : [hasSub(sub)])]))
        .orderBy(ownFirst)
        .orderBy('owner')
        .limit(2)
      return (await query(database.forTenant(tenant).read, owners)).rows.map((row) => row.owner)
    },
  }
}

/** An owner is `<issuer> <sub>`; issuers contain no space. */
function hasIssuer(issuer: string) {
  const prefix = sql`cast(${`${issuer} `} as text)`
  return sql<boolean>`substr(owner, 1, length(${prefix})) = ${prefix}`
}

/** Matches the exact `sub`. Without ` <sub>` an owner is an issuer; a remaining space means that the owner has a longer `sub`. */
function hasSub(sub: string) {
  const suffix = sql`cast(${` ${sub}`} as text)`
  return sql<boolean>`replace(replace(owner, ${suffix}, ''), ' ', '') || ${suffix} = owner`
}
