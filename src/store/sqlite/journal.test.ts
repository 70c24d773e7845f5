import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { endOf, newRun } from '../../../test/store/fixture.ts'
import type { RunStore } from '../../runs/run-store.ts'
import type { Database } from '../database.ts'
import { createRunStore } from '../runs/runs.ts'
import { openSqlite } from './sqlite.ts'

const root = mkdtempSync(path.join(os.tmpdir(), 'agent-core-journal-'))
after(() => rmSync(root, { recursive: true, force: true }))
let folders = 0
const newFolder = () => path.join(root, `data-${folders++}`)

/** The numbers of rows in the file, as another process sees them. */
function countsIn(folder: string) {
  const file = new DatabaseSync(path.join(folder, 'agent-core.db'), { readOnly: true })
  const count = (table: string) => Number(file.prepare(`select count(*) as count from ${table}`).get()!.count)
  const counts = { journal: count('journal'), runs: count('runs'), sessions: count('sessions'), messages: count('messages') }
  file.close()
  return counts
}

/** The rows of all tables of chats, in a database that has been closed. */
function rowsIn(folder: string) {
  const file = new DatabaseSync(path.join(folder, 'agent-core.db'), { readOnly: true })
  const rows = ['sessions', 'runs', 'messages', 'metrics'].map((table) => file.prepare(`select * from ${table} order by 1, 2, 3`).all())
  file.close()
  return rows
}

const ids = { requestId: 'r', sessionKey: 'k' }

async function begin(store: RunStore, change: Parameters<typeof newRun>[0] = {}) {
  const run = newRun({ ...ids, ...change })
  const begun = await store.begin(run)
  assert.equal(begun.kind, 'running')
  return { run, turn: begun.turn }
}

async function chat(store: RunStore, change: Parameters<typeof newRun>[0] = {}) {
  const { run, turn } = await begin(store, change)
  await store.finish(run, 1, endOf(turn, { checkpointId: 'c' }))
}

async function open(folder = newFolder()) {
  const database = await openSqlite(folder)
  return { folder, database, store: createRunStore(database) }
}

const runsIn = async ({ all }: Database) =>
  (await all.read.execute<{ request_id: string; status: string }>('select request_id, status from runs order by request_id', [])).rows.map(
    ({ request_id, status }) => `${request_id} ${status}`,
  )

test('a chat alone is two rows of the journal, and a statement that names a table of chats finds the chat in the tables', async () => {
  const { folder, database, store } = await open()
  await chat(store)
  assert.deepEqual(countsIn(folder), { journal: 2, runs: 0, sessions: 0, messages: 0 })
  assert.deepEqual(await runsIn(database), ['r success'])
  assert.deepEqual(countsIn(folder), { journal: 0, runs: 1, sessions: 1, messages: 2 })
  await database.close()
})

test('the journal makes the rows that the statements of a chat make', async () => {
  const [journaled, direct] = [await open(), await open()]
  await chat(journaled.store)
  // A long question is stored at once, and its rows are compared without the question.
  await chat(direct.store, { bodyHash: 'x'.repeat(20_000) })
  assert.equal(countsIn(direct.folder).journal, 0)
  await journaled.database.close()
  await direct.database.close()
  const expected = rowsIn(direct.folder).map((rows) =>
    rows.map((row) => ('body_hash' in row ? { ...row, body_hash: 'hash', place: 0 } : row)),
  )
  const actual = rowsIn(journaled.folder).map((rows) => rows.map((row) => ('place' in row ? { ...row, place: 0 } : row)))
  assert.deepEqual(actual, expected)
})

test('a database that was not closed has each chat once when it is opened again', async () => {
  const { folder, database, store } = await open()
  await chat(store)
  await begin(store, { requestId: 'open', sessionId: 'other', sessionKey: 'k2' })
  const copy = newFolder()
  cpSync(folder, copy, { recursive: true })
  await database.close()
  for (let round = 0; round < 2; round++) {
    const again = await open(copy)
    assert.deepEqual(await runsIn(again.database), ['open running', 'r success'])
    await again.database.close()
  }
})

test('a used request id, a second chat of the session, and a repeated end find the chat of the journal', async () => {
  const { database, store } = await open()
  const { run, turn } = await begin(store)
  assert.equal((await store.begin(newRun({ ...ids, sessionId: 'elsewhere', sessionKey: 'k9' }))).kind, 'known')
  const end = endOf(turn)
  await store.finish(run, 1, end)
  await assert.rejects(store.finish(run, 1, end), { name: 'FenceLost' })
  await chat(store, { requestId: 'r1', sessionId: 's1', sessionKey: 'k1' })
  const { turn: second } = await begin(store, { requestId: 'r2', sessionId: 's1', sessionKey: 'unused' })
  assert.deepEqual({ session: second.session, messageCount: second.messageCount }, { session: 'k1', messageCount: 3 })
  await database.close()
})

test('a run that is asked while its begin is in the journal ends in the tables; one of another version of the configuration too', async () => {
  const { database, store } = await open()
  const { run, turn } = await begin(store)
  assert.equal((await store.find(run))?.status, 'running')
  await store.finish(run, 1, endOf(turn))
  const other = await begin(store, { requestId: 'r2', sessionId: 's2', sessionKey: 'k2' })
  await store.finish(other.run, 1, endOf(other.turn, { configVersion: '2' }))
  assert.deepEqual(await runsIn(database), ['r success', 'r2 success'])
  assert.equal((await store.find(other.run))?.configVersion, '2')
  await database.close()
})

test('a unit that is rolled back leaves the entries in the journal', async () => {
  const { folder, database, store } = await open()
  await chat(store)
  const undone = database.all.unit(async (connection) => {
    await connection.execute('select count(*) from runs', [])
    throw new Error('undone')
  })
  await assert.rejects(undone, /undone/)
  assert.deepEqual(countsIn(folder), { journal: 2, runs: 0, sessions: 0, messages: 0 })
  assert.deepEqual(await runsIn(database), ['r success'])
  await database.close()
})

test('many chats, one after another, leave few entries; many at a time use no journal', async () => {
  const { folder, database, store } = await open()
  const named = (n: number) => ({ requestId: `r${n}`, sessionId: `s${n}`, sessionKey: `k${n}` })
  for (let n = 0; n < 100; n++) await chat(store, named(n))
  assert.ok(countsIn(folder).journal < 128)
  await Promise.all(Array.from({ length: 20 }, (_, n) => begin(store, named(100 + n))))
  assert.deepEqual(countsIn(folder), { journal: 0, runs: 120, sessions: 120, messages: 220 })
  await database.close()
})

test('entries that another process has written to the tables are not written again', async () => {
  const { folder, database, store } = await open()
  const { run, turn } = await begin(store)
  const other = await open(folder)
  assert.deepEqual(await runsIn(other.database), ['r running'])
  await store.finish(run, 1, endOf(turn))
  assert.deepEqual(await runsIn(database), ['r success'])
  assert.deepEqual(countsIn(folder), { journal: 0, runs: 1, sessions: 1, messages: 2 })
  await Promise.all([database.close(), other.database.close()])
})

test('other processes see a chat in the tables within some seconds', async () => {
  const { folder, database, store } = await open()
  await chat(store)
  const until = performance.now() + 20_000
  while (countsIn(folder).runs === 0 && performance.now() < until) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(countsIn(folder), { journal: 0, runs: 1, sessions: 1, messages: 2 })
  await database.close()
})
