import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openSqlite } from '../../src/store/sqlite/sqlite.ts'
import { createRunStore } from '../../src/store/runs/runs.ts'
import { registerStoreContract } from './contract.ts'
import { newRun } from './fixture.ts'

const root = mkdtempSync(path.join(os.tmpdir(), 'agent-core-sqlite-'))
after(() => rmSync(root, { recursive: true, force: true }))

let folders = 0
const newFolder = () => path.join(root, String((folders += 1)))

registerStoreContract('the store on SQLite', () => openSqlite(newFolder()))

const writer = fileURLToPath(new URL('./writer.ts', import.meta.url))
const start = (what: string, folder: string) => spawn(process.execPath, [writer, what, folder], { stdio: ['ignore', 'pipe', 'inherit'] })

/** Whole lines that a process printed until it was killed after `wanted` of them. */
async function linesUntilKilled(folder: string, wanted: number): Promise<string[]> {
  const child = start('units', folder)
  let text = ''
  child.stdout.setEncoding('utf8')
  for await (const chunk of child.stdout) {
    text += chunk
    if (text.split('\n').length > wanted) child.kill('SIGKILL')
  }
  return text.split('\n').slice(0, -1)
}

test('every resolved write survives the death of the process', async () => {
  const folder = newFolder()
  const printed: string[] = []
  for (const wanted of [1, 40, 333]) {
    printed.push(...(await linesUntilKilled(folder, wanted)))
    const database = await openSqlite(folder)
    const { rows } = await database.all.read.execute<{ id: string }>('select id from processes', [])
    const kept = new Set(rows.map(({ id }) => id))
    assert.deepEqual(
      printed.filter((id) => !kept.has(id)),
      [],
    )
    await database.close()
  }
  assert.ok(printed.length > 374)
})

test('two processes can write to one database', async () => {
  const folder = newFolder()
  const database = await openSqlite(folder)
  const child = start('beside', folder)
  const exit = once(child, 'exit')
  let units = 0
  for (let isDone = false; !isDone; units += 1) {
    await database.all.unit((connection) => connection.execute('insert into processes (id, alive_until) values (?, 1)', [`unit-${units}`]))
    isDone = child.exitCode !== null
  }
  assert.deepEqual(await exit, [0, null])
  const { rows } = await database.all.read.execute<{ n: number }>('select count(*) as n from processes', [])
  assert.equal(rows[0]!.n, 100 + units)
  await database.close()
})

test('several processes can create the database at once', async () => {
  const folder = newFolder()
  const exits = await Promise.all(Array.from({ length: 4 }, () => once(start('open', folder), 'exit')))
  assert.deepEqual(exits, Array(4).fill([0, null]))
})

test('opening waits for a new database that another process is creating', async () => {
  const folder = newFolder()
  mkdirSync(folder)
  const other = new DatabaseSync(path.join(folder, 'agent-core.db'))
  other.exec('begin exclusive')
  const opening = openSqlite(folder)
  await setImmediate()
  other.close()
  await (await opening).close()
})

test('a failed migration leaves no partial schema', async () => {
  const folder = newFolder()
  await (await openSqlite(folder)).close()
  const file = path.join(folder, 'agent-core.db')
  const before = new DatabaseSync(file)
  before.exec('delete from kysely_migration; drop table sessions')
  before.close()
  // `messages` is there already: the migration makes `sessions`, then fails.
  await assert.rejects(openSqlite(folder), /could not be migrated/)
  const after = new DatabaseSync(file)
  assert.deepEqual(after.prepare("select name from sqlite_schema where name = 'sessions'").all(), [])
  after.close()
})

test('a database of a later version is refused', async () => {
  const folder = newFolder()
  await (await openSqlite(folder)).close()
  const later = new DatabaseSync(path.join(folder, 'agent-core.db'))
  later.exec("insert into kysely_migration values ('9999-later', '2999-01-01')")
  later.close()
  await assert.rejects(openSqlite(folder), /by a later version/)
})

test('close waits for units of work, and later units are refused', async () => {
  const database = await openSqlite(newFolder())
  const insert = (id: string) =>
    database.all.unit((connection) => connection.execute('insert into processes (id, alive_until) values (?, 1)', [id]))
  const running = ['a', 'b'].map(insert)
  const closed = database.close()
  await Promise.all(running)
  await closed
  await assert.rejects(insert('c'), /not open/)
  await assert.rejects(insert('d'), /not open/)
})

test('a run reads its session while its begin is on its way to the disk, with images as without', async () => {
  const database = await openSqlite(newFolder())
  const store = createRunStore(database)
  for (const images of [undefined, [{ mediaType: 'image/png', data: 'aa' }] as const]) {
    const run = newRun({ tenant: images ? 'pictured' : 'plain', ...(images ? { images } : {}) })
    const order: string[] = []
    const begun = await store.begin(run, (turn) => {
      order.push('committed')
      void store.historyOfRun({ ...run, fence: 1 }, turn, 0).then(([message]) => order.push(`read ${message?.content}`))
    })
    order.push(begun.kind)
    assert.deepEqual(order, ['committed', 'read hello', 'running'])
  }
  await database.close()
})
