import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import { CommitUnknown } from '../database.ts'
import { createWalSync } from './units.ts'

function setUp(t: TestContext) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'agent-core-wal-'))
  const file = path.join(folder, 'x.db')
  const writer = new DatabaseSync(file, { timeout: 0 })
  writer.exec('pragma journal_mode = wal; pragma synchronous = normal; create table t (x)')
  t.after(() => {
    writer.close()
    rmSync(folder, { recursive: true })
  })
  return { file, writer, log: `${file}-wal` }
}

test('the log is synced, also after a checkpoint', async (t) => {
  const { writer, log } = setUp(t)
  const wal = createWalSync(writer, log)
  await wal.sync()
  writer.exec('pragma wal_checkpoint(truncate); insert into t values (1)')
  await wal.sync()
  wal.close()
})

test('after a failed sync the commits are written to the database file instead', async (t) => {
  const { file, writer } = setUp(t)
  const wal = createWalSync(writer, `${file}-missing`)
  writer.exec('insert into t values (1)')
  await wal.sync()
  const { log } = writer.prepare('pragma wal_checkpoint').get() as { log: number }
  assert.equal(log, 0)
})

test('when the database file cannot be written either, it is unknown whether a commit is stored, until a sync succeeds', async (t) => {
  const { file, writer } = setUp(t)
  const reader = new DatabaseSync(file, { readOnly: true, timeout: 0 })
  const wal = createWalSync(writer, `${file}-missing`, 0)
  reader.exec('begin; select * from t')
  writer.exec('insert into t values (1)')
  await assert.rejects(wal.sync(), CommitUnknown)
  reader.exec('commit')
  await wal.sync()
  reader.close()
})
