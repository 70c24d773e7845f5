import { sql, type Expression, type ExpressionBuilder, type Kysely, type SqlBool } from 'kysely'
import type { Owner } from '../../access/owner.ts'
import type { Change, Material, MemoryStore, StoredMemory, Memory, MemoryKind, MemorySource, Origin, Vector } from '../../memory/memory.ts'
import type { MessageData } from '../../sessions/message.ts'
import { query, type Database, statement, type Connection, type Param } from '../database.ts'
import { parseJson, toText } from '../rows.ts'
import type { MemoryRow, MemorySourceRow, Tables } from '../tables.ts'

/** `MemoryStore` on either database. */
export function createMemoryStore(database: Database): MemoryStore {
  const { db } = database
  const versionOf = statement(db, (builder, param: Param<Owner>) =>
    builder.selectFrom('memory_owners').select('version').where('tenant', '=', param('tenant')).where('owner', '=', param('owner')),
  )
  const version = async (caller: Owner) => (await versionOf(database.forTenant(caller.tenant).read, caller)).rows[0]?.version ?? 0

  return {
    version,
    async all(caller) {
      // Read before the memories, so that a change in between shows at the next comparison of versions.
      const currentVersion = await version(caller)
      const { rows } = await query(database.forTenant(caller.tenant).read, memoriesOf(db, caller).selectAll().orderBy('id'))
      return { version: currentVersion, memories: rows.map(toMemory) }
    },

    async page(caller, { limit, before }) {
      const newestFirst = memoriesOf(db, caller).selectAll().orderBy('id', 'desc').limit(limit)
      const { read } = database.forTenant(caller.tenant)
      const { rows } = await query(read, before === undefined ? newestFirst : newestFirst.where('id', '<', before))
      if (rows.length === 0) return []
      const ids = rows.map(({ id }) => id)
      const sources = await query(
        read,
        db.selectFrom('memory_sources').selectAll().where('memory', 'in', ids).orderBy('created_at', 'desc'),
      )
      return rows.map((row) => toStoredMemory(row, sources.rows))
    },

    delete: (caller, id, acting) =>
      database.forTenant(caller.tenant).unit(async (connection) => {
        if (!(await remove(connection, db, caller, id))) return false
        await incrementVersion(connection, db, caller)
        await database.ledger.record(connection, caller.tenant, acting, { action: 'memory.deleted', target: `memory:${id}` })
        return true
      }),

    async material(caller, requestId) {
      const { rows } = await query(database.forTenant(caller.tenant).read, materialOf(db, caller, requestId))
      return toMaterial(rows, requestId)
    },

    async hasTaken({ tenant }, session, madeBy) {
      const sources = db.selectFrom('memory_sources').select('memory').where('tenant', '=', tenant).where('session', '=', session)
      return (await query(database.forTenant(tenant).read, sources.where('made_by', '=', madeBy).limit(1))).rows.length > 0
    },

    apply: (caller, expectedVersion, changes, source, now) =>
      database.forTenant(caller.tenant).unit(async (connection) => {
        if (!(await holdSession(connection, db, caller, source.session)) || (await isTurnGone(connection, db, caller, source)))
          return 'gone'
        if (!(await incrementVersion(connection, db, caller, expectedVersion))) return 'moved'
        for (const change of changes) await applyChange(connection, db, caller, change, source, now)
        return 'done'
      }),

    setVectors: (caller, vectors) =>
      database.forTenant(caller.tenant).unit(async (connection) => {
        for (const [id, vector] of vectors) {
          const set = db.updateTable('memories').set(toVectorColumns(vector)).where('id', '=', id)
          await query(connection, set.where('tenant', '=', caller.tenant).where('owner', '=', caller.owner))
        }
        await incrementVersion(connection, db, caller)
      }),
  }
}

/**
 * Forgets memories learned only in this session, as a part of its deletion. Increments the version of the caller's memories.
 * `session` is the session's key.
 */
export async function forgetSession(connection: Connection, db: Kysely<Tables>, caller: Owner, session: string): Promise<void> {
  await forgetSources(connection, db, caller, ({ eb }) => eb('session', '=', session))
}

interface LearnedTurn {
  /** The key of the session. */
  session: string
  /** Indexes of questions. */
  indexes: readonly number[]
  requestIds: readonly string[]
}

/** Forgets memories learned only from a turn of a session, as a part of the deletion of a message. */
export function forgetTurn(
  connection: Connection,
  db: Kysely<Tables>,
  caller: Owner,
  { session, indexes, requestIds }: LearnedTurn,
): Promise<void> {
  const makers = requestIds.flatMap((id) => [`retain ${id}`, `feedback ${id}`])
  return forgetSources(connection, db, caller, ({ eb, and, or }) =>
    and([
      eb('session', '=', session),
      or([eb('message_index', 'in', [...indexes]), ...(makers.length > 0 ? [eb('made_by', 'in', makers)] : [])]),
    ]),
  )
}

/** Removes sources, and memories without another source. */
async function forgetSources(
  connection: Connection,
  db: Kysely<Tables>,
  caller: Owner,
  isForgotten: (builder: ExpressionBuilder<Tables, 'memory_sources'>) => Expression<SqlBool>,
): Promise<void> {
  const { tenant, owner } = caller
  const sources = db.selectFrom('memory_sources').select('memory').where('tenant', '=', tenant).where(isForgotten)
  const { rows } = await query(connection, sources)
  if (rows.length === 0) return
  // First, for the lock: of two sessions deleted at once, the later deletion sees that no other source remains.
  await incrementVersion(connection, db, caller)
  await query(connection, db.deleteFrom('memory_sources').where('tenant', '=', tenant).where(isForgotten))
  const ids = rows.map(({ memory }) => memory)
  const orphans = db.deleteFrom('memories').where('tenant', '=', tenant).where('owner', '=', owner).where('id', 'in', ids)
  await query(connection, orphans.where('id', 'not in', db.selectFrom('memory_sources').select('memory').where('memory', 'in', ids)))
}

/** Forgets the given memories of a caller unless confirmed since `since` (epoch milliseconds). */
export async function forgetMemories(
  connection: Connection,
  db: Kysely<Tables>,
  caller: Owner,
  ids: readonly string[],
  since: number,
): Promise<void> {
  const { tenant, owner } = caller
  await incrementVersion(connection, db, caller)
  const old = db.deleteFrom('memories').where('tenant', '=', tenant).where('owner', '=', owner).where('id', 'in', ids)
  const { rows } = await query(connection, old.where('updated_at', '<', since).returning('id'))
  const deletedIds = rows.map(({ id }) => id)
  if (deletedIds.length > 0)
    await query(connection, db.deleteFrom('memory_sources').where('tenant', '=', tenant).where('memory', 'in', deletedIds))
}

function memoriesOf(db: Kysely<Tables>, { tenant, owner }: Owner) {
  return db.selectFrom('memories').where('tenant', '=', tenant).where('owner', '=', owner)
}

/**
 * Increments and locks the version, which serializes changes of a caller's memories. False when the version is not `expectedVersion`.
 */
async function incrementVersion(
  connection: Connection,
  db: Kysely<Tables>,
  { tenant, owner }: Owner,
  expectedVersion?: number,
): Promise<boolean> {
  const row = { tenant, owner, version: 1 }
  const next = sql<number>`memory_owners.version + 1`
  const { rows } = await query(
    connection,
    db
      .insertInto('memory_owners')
      .values(row)
      .onConflict((conflict) => {
        const moved = conflict.columns(['tenant', 'owner']).doUpdateSet({ version: next })
        return expectedVersion === undefined ? moved : moved.where('memory_owners.version', '=', expectedVersion)
      })
      .returning('version'),
  )
  return rows[0] !== undefined && (expectedVersion === undefined || rows[0].version === expectedVersion + 1)
}

/** Locks the session against deletion until the unit commits; false when deleted. An update, because SQLite has no `for share`. */
async function holdSession(connection: Connection, db: Kysely<Tables>, { tenant, owner }: Owner, session: string): Promise<boolean> {
  const unchanged = sql<number>`updated_at`
  const hold = db.updateTable('sessions').set({ updated_at: unchanged }).where('tenant', '=', tenant).where('key', '=', session)
  return (await query(connection, hold.where('owner', '=', owner).returning('key'))).rows.length > 0
}

/** True if a message of the turn was deleted meanwhile, which removes the run of the turn. */
async function isTurnGone(
  connection: Connection,
  db: Kysely<Tables>,
  { tenant, owner }: Owner,
  { madeBy }: MemorySource,
): Promise<boolean> {
  const run = db.selectFrom('runs').select('request_id').where('tenant', '=', tenant).where('owner', '=', owner)
  const goneRun = run.where('request_id', '=', madeBy.slice(madeBy.indexOf(' ') + 1)).where('status', '=', 'gone')
  return (await query(connection, goneRun)).rows.length > 0
}

async function applyChange(
  connection: Connection,
  db: Kysely<Tables>,
  caller: Owner,
  change: Change,
  source: MemorySource,
  now: number,
): Promise<void> {
  switch (change.kind) {
    case 'add':
      await query(connection, db.insertInto('memories').values(toRow(caller, change.memory)))
      return addSource(connection, db, caller, change.memory.id, source, now)
    case 'confirm': {
      const { tenant, owner } = caller
      const confirmation = db.updateTable('memories').set({ updated_at: now }).where('tenant', '=', tenant).where('owner', '=', owner)
      const { changes } = await query(connection, confirmation.where('id', '=', change.id))
      return changes > 0 ? addSource(connection, db, caller, change.id, source, now) : undefined
    }
    case 'remove':
      await remove(connection, db, caller, change.id)
      return undefined
    case 'retract':
      return retract(connection, db, caller, source.session, change.madeBy)
  }
}

async function addSource(
  connection: Connection,
  db: Kysely<Tables>,
  { tenant }: Owner,
  memory: string,
  { session, sessionId, messageIndex, madeBy }: MemorySource,
  now: number,
): Promise<void> {
  const row = { tenant, memory, session, session_id: sessionId, message_index: messageIndex, made_by: madeBy, created_at: now }
  const primaryKey = ['memory', 'session', 'message_index'] as const
  await query(
    connection,
    db
      .insertInto('memory_sources')
      .values(row)
      .onConflict((conflict) => conflict.columns(primaryKey).doNothing()),
  )
}

async function remove(connection: Connection, db: Kysely<Tables>, { tenant, owner }: Owner, id: string): Promise<boolean> {
  const deletion = db.deleteFrom('memories').where('tenant', '=', tenant).where('owner', '=', owner).where('id', '=', id)
  const { changes } = await query(connection, deletion)
  if (changes > 0) await query(connection, db.deleteFrom('memory_sources').where('tenant', '=', tenant).where('memory', '=', id))
  return changes > 0
}

async function retract(connection: Connection, db: Kysely<Tables>, caller: Owner, session: string, madeBy: string): Promise<void> {
  const learned = db.selectFrom('memory_sources').select('memory').where('tenant', '=', caller.tenant).where('session', '=', session)
  const { rows } = await query(connection, learned.where('made_by', '=', madeBy))
  for (const { memory } of rows) {
    const otherSources = db.selectFrom('memory_sources').select('memory').where('memory', '=', memory).where('made_by', '<>', madeBy)
    if ((await query(connection, otherSources.limit(1))).rows.length === 0) await remove(connection, db, caller, memory)
    else await query(connection, db.deleteFrom('memory_sources').where('memory', '=', memory).where('made_by', '=', madeBy))
  }
}

interface MaterialRow {
  session: string
  session_id: string
  idx: number
  role: string
  content: string
  data: string | null
}

/** Messages of a run that memories are learned from. */
const maxMaterial = 100

/**
 * Selects the question of a run, and messages behind the question: a run holds its session, so that its messages are adjacent. Each
 * message of a person to the run may have an answer before it. A failed run has no last answer.
 */
function materialOf(db: Kysely<Tables>, { tenant, owner }: Owner, requestId: string) {
  return db
    .selectFrom('runs')
    .innerJoin('messages', (join) =>
      join
        .onRef('messages.tenant', '=', 'runs.tenant')
        .onRef('messages.session', '=', 'runs.session')
        .on(sql<boolean>`messages.idx between runs.message_index and runs.message_index + 1 + 2 * coalesce(runs.message_ranks, 0)`),
    )
    .select(['messages.session', 'runs.session_id', 'messages.idx', 'messages.role', 'content', 'messages.data'])
    .where('runs.tenant', '=', tenant)
    .where('runs.owner', '=', owner)
    .where('runs.request_id', '=', requestId)
    .orderBy('messages.idx')
    .limit(maxMaterial)
}

function toMaterial(rows: readonly MaterialRow[], requestId: string): Material | undefined {
  const [first, ...others] = rows
  if (!first) return undefined
  const behind = others.flatMap(({ role, content, data }) => {
    const parsed = parseJson<MessageData>(data) ?? {}
    return parsed.requestId === requestId ? [{ role, content, ...parsed }] : []
  })
  const answers = behind.filter(({ role }) => role === 'ai')
  return {
    session: first.session,
    sessionId: first.session_id,
    messageIndex: first.idx,
    question: [first, ...behind.filter(({ role }) => role === 'human')].map(({ content }) => content).join('\n\n'),
    ...(answers.length > 0 && answers.every(({ taint }) => taint?.sources.length === 0) && { isClean: true }),
    steps: answers
      .flatMap(({ steps = [] }) => steps)
      .filter(({ type }) => type === 'tool_call' || type === 'sub_agent_call')
      .map(({ tool, tool_input: input, status, output }) => ({ tool, input, status, output })),
  }
}

function toRow({ tenant, owner }: Owner, memory: Memory): MemoryRow {
  const { id, kind, origin, trust = 'trusted', content, createdAt, updatedAt, vector } = memory
  const columns = vector ? toVectorColumns(vector) : { embedding_model: null, embedding: null }
  return { tenant, owner, id, kind, origin, trust, content: toText(content), created_at: createdAt, updated_at: updatedAt, ...columns }
}

function toVectorColumns({ model, values }: Vector) {
  const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength)
  return { embedding_model: model, embedding: bytes.toString('base64') }
}

function toMemory(row: MemoryRow): Memory {
  return {
    id: row.id,
    kind: row.kind as MemoryKind,
    origin: row.origin as Origin,
    ...(row.trust === 'untrusted' && { trust: row.trust }),
    content: row.content,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    vector: toVector(row),
  }
}

function toVector({ embedding, embedding_model: model }: MemoryRow): Vector | undefined {
  if (embedding === null || model === null) return undefined
  const bytes = new Uint8Array(Buffer.from(embedding, 'base64'))
  return { model, values: new Float32Array(bytes.buffer, 0, bytes.byteLength >> 2) }
}

function toStoredMemory(row: MemoryRow, all: readonly MemorySourceRow[]): StoredMemory {
  const sources = all.filter(({ memory }) => memory === row.id)
  return {
    ...toMemory(row),
    sources: sources.map(({ session_id: sessionId, message_index: messageIndex }) => ({ sessionId, messageIndex })),
  }
}
