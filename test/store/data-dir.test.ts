import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { holdDataDir, isHeld, isOpenToOthers } from '../../src/store/sqlite/data-dir.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite.ts'

const root = mkdtempSync(path.join(os.tmpdir(), 'agent-core-data-'))
after(() => rmSync(root, { recursive: true, force: true }))

const inUse = (folder: string) => ({ message: `Another agent-core is using ${folder}. Stop it, or set DATA_DIR to another folder.` })

test('the data directory is created for its owner only, and no git repository takes its keys', () => {
  const folder = path.join(root, 'deep', 'down')
  const held = holdDataDir(folder)
  assert.equal(statSync(folder).mode & 0o777, 0o700)
  assert.equal(readFileSync(path.join(folder, '.gitignore'), 'utf8'), '*\n')
  held.release()
})

test('database files are readable by their owner only, including existing ones', async () => {
  const folder = path.join(root, 'files')
  const modeOf = (name: string) => statSync(path.join(folder, name)).mode & 0o777
  mkdirSync(folder, { mode: 0o755 })
  writeFileSync(path.join(folder, 'agent-core.db'), '', { mode: 0o644 })
  const held = holdDataDir(folder)
  const database = await openSqlite(folder)
  const names = ['.', 'lock.db', 'agent-core.db', 'agent-core.db-wal', 'agent-core.db-shm']
  assert.deepEqual(names.map(modeOf), [0o700, 0o600, 0o600, 0o600, 0o600])
  await database.close()
  held.release()
})

test('a folder with files of other programs keeps its mode', () => {
  const folder = path.join(root, 'shared')
  mkdirSync(folder, { mode: 0o755 })
  writeFileSync(path.join(folder, 'notes.txt'), '')
  chmodSync(folder, 0o755)
  holdDataDir(folder).release()
  assert.equal(statSync(folder).mode & 0o777, 0o755)
  assert.ok(isOpenToOthers(folder))
})

test('isHeld shows whether a folder is held and changes nothing', () => {
  const folder = path.join(root, 'seen')
  assert.equal(isHeld(folder), false)
  const held = holdDataDir(folder)
  assert.equal(isHeld(folder), true)
  assert.throws(() => holdDataDir(folder), inUse(folder))
  assert.equal(isHeld(folder), true)
  held.release()
  assert.equal(isHeld(folder), false)
})

test('a held folder is refused until it is released', () => {
  const folder = path.join(root, 'twice')
  const held = holdDataDir(folder)
  assert.throws(() => holdDataDir(folder), inUse(folder))
  held.release()
  held.release()
  holdDataDir(folder).release()
})

test('a folder held by another process is refused, and free at once when the process is killed', async () => {
  const folder = path.join(root, 'other')
  const script = fileURLToPath(new URL('./writer.ts', import.meta.url))
  const child = spawn(process.execPath, [script, 'hold', folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  assert.equal(isHeld(folder), true)
  assert.throws(() => holdDataDir(folder), inUse(folder))
  // A refused attempt takes nothing away from the holder.
  assert.throws(() => holdDataDir(folder), inUse(folder))
  child.kill('SIGKILL')
  await once(child, 'exit')
  holdDataDir(folder).release()
})

test('other errors are passed on unchanged', () => {
  const file = path.join(root, 'file')
  writeFileSync(file, '')
  assert.throws(() => holdDataDir(path.join(file, 'below')), { code: 'ENOTDIR' })
})
