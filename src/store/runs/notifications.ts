import { sql, type Kysely } from 'kysely'
import { invalid, ServiceError } from '../../errors.ts'
import { withoutUser } from '../../runs/callbacks/callbacks.ts'
import type { NewJob } from '../../runs/jobs.ts'
import {
  notificationJob,
  type NotificationStatus,
  type NotificationStore,
  type StoredNotification,
} from '../../runs/callbacks/notifications.ts'
import { type NotificationConfig, runGone } from '../../runs/run-store.ts'
import type { RunKey } from '../../runs/run.ts'
import { query, type Connection, type Database } from '../database.ts'
import { isChat, keyColumns, toText } from '../rows.ts'
import { plainBox, type SecretBox } from '../secrets/secret-box.ts'
import type { TaskNotificationRow, Tables } from '../tables.ts'
import { toAttempts, toKept } from './callbacks.ts'

/** Name under which the secrets of a receiver are sealed. */
export const receiverSecretName = 'secret of a push notification'

export interface NotificationStoreOptions {
  /** Encrypts the secrets of receivers; absent where the database is a local file. */
  box?: SecretBox | undefined
  /** Called after the commit of due notifications. */
  wake?: () => void
}

/** `NotificationStore` on either database. */
export function createNotificationStore(
  database: Database,
  { box = plainBox, wake = () => undefined }: NotificationStoreOptions = {},
): NotificationStore {
  const { db } = database
  const ofRun = (key: RunKey) =>
    db
      .selectFrom('task_notifications')
      .selectAll()
      .where((is) => is.and(keyColumns(key)))

  return {
    async add(key, config, { max, now }) {
      const isDue = await database.forTenant(key.tenant).unit(async (connection) => {
        const run = await mark(connection, db, key)
        if (!run || !isChat(run)) throw new ServiceError('not_found', `There is no run ${key.requestId}.`)
        if (run.status === 'gone') throw runGone(key)
        const stored = (await query(connection, ofRun(key))).rows
        if (stored.length >= max && !stored.some(({ id }) => id === config.id))
          throw invalid(['body', 'id'], `there are ${max} push notification configs of this task already`)
        await insertNotification(connection, db, { key, config, box, now })
        if (run.status === 'pending' || run.status === 'running') return false
        await database.jobs.insert(connection, await startRound(connection, db, key, { now, id: config.id }))
        return true
      })
      if (isDue) wake()
    },

    async find(key, id) {
      const { rows } = await query(database.forTenant(key.tenant).read, ofRun(key).where('id', '=', id))
      return rows[0] && toNotification(rows[0], box)
    },

    async list(key) {
      const { rows } = await query(database.forTenant(key.tenant).read, ofRun(key).orderBy('id'))
      return rows.map((row) => toNotification(row, box))
    },

    remove: (key, id) =>
      database.forTenant(key.tenant).unit(async (connection) => {
        const removed = db.deleteFrom('task_notifications').where((is) => is.and({ ...keyColumns(key), id }))
        await query(connection, removed)
      }),

    record: (key, id, round, attempt, { status, nextAt }) =>
      database.forTenant(key.tenant).unit(async (connection) => {
        const ofConfig = db.updateTable('task_notifications').where((is) => is.and({ ...keyColumns(key), id }))
        // Locks the row, so that a concurrent change waits for the commit.
        const locking = ofConfig.set(({ ref }) => ({ round: ref('round') })).returning(['attempts', 'round', 'tries'])
        const row = (await query(connection, locking)).rows[0]
        if (!row) return
        const attempts = JSON.stringify(toKept([...toAttempts(row.attempts), attempt]))
        const verdict = row.round === round ? { status, tries: row.tries + 1, next_attempt_at: nextAt ?? null } : {}
        await query(connection, ofConfig.set({ attempts, ...verdict }))
      }),
  }
}

/** Marks a run as one with notifications, and locks it: a change of the run waits for the commit, or is seen here. */
async function mark(connection: Connection, db: Kysely<Tables>, key: RunKey) {
  const marked = db
    .updateTable('runs')
    .set({ has_notifications: 1 })
    .where((is) => is.and(keyColumns(key)))
  return (await query(connection, marked.returning(['status', 'operation']))).rows[0]
}

interface NewNotification {
  key: RunKey
  config: NotificationConfig
  box: SecretBox
  now: number
}

async function insertNotification(connection: Connection, db: Kysely<Tables>, { key, config, box, now }: NewNotification): Promise<void> {
  // The URL may have a user and a password, so the whole URL is sealed too.
  const { id, links, ...sealedFields } = config
  const sealed = box.seal(receiverSecretName, JSON.stringify(sealedFields))
  const values = {
    url: toText(withoutUser(config.url)),
    sealed,
    links: links ? 1 : 0,
    status: 'waiting',
    tries: 0,
    attempts: '[]',
    next_attempt_at: null,
  }
  const inserted = db
    .insertInto('task_notifications')
    .values({ ...keyColumns(key), id, ...values, round: 0, created_at: now })
    .onConflict((conflict) => conflict.columns(['tenant', 'owner', 'request_id', 'id']).doUpdateSet(values))
  await query(connection, inserted)
}

/** Stores the configs of a new run, in the transaction that stores the run. */
export async function addNotifications(
  connection: Connection,
  db: Kysely<Tables>,
  { configs, ...added }: Omit<NewNotification, 'config'> & { configs: readonly NotificationConfig[] },
): Promise<void> {
  await mark(connection, db, added.key)
  for (const config of configs) await insertNotification(connection, db, { ...added, config })
}

/** Begins a round for each config of a run that has changed, in the transaction of the change. Returns the jobs that send the notifications. */
async function startRound(
  connection: Connection,
  db: Kysely<Tables>,
  key: RunKey,
  { now, id }: { now: number; id?: string },
): Promise<NewJob[]> {
  const due = db
    .updateTable('task_notifications')
    .set({ round: sql<number>`round + 1`, tries: 0, status: 'pending', next_attempt_at: null })
    .where((is) => is.and({ ...keyColumns(key), ...(id === undefined ? {} : { id }) }))
    .where('status', '!=', 'gone')
    .returning(['id', 'round'])
  return (await query(connection, due)).rows.map((row) => notificationJob(key, { ...row, now }))
}

export type Rounds = ReturnType<typeof createRounds>

/** Notifications of runs that change. */
export function createRounds({ db, jobs }: Pick<Database, 'db' | 'jobs'>, wake: () => void) {
  return {
    /** Queues the notifications of a run in the transaction of its change. */
    async begin(connection: Connection, key: RunKey, now: number): Promise<void> {
      await jobs.insert(connection, await startRound(connection, db, key, { now }))
    },
    /** To be called after the commit of a change that has notifications. */
    wake,
  }
}

function toNotification(row: TaskNotificationRow, box: SecretBox): StoredNotification {
  const secrets = JSON.parse(box.open(receiverSecretName, row.sealed)) as Omit<NotificationConfig, 'id' | 'links'>
  const { id, round, tries } = row
  return { id, ...secrets, links: row.links === 1, status: row.status as NotificationStatus, round, tries }
}
