import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { writeWhole } from './write-whole.ts'

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'write-whole-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

test('a file is replaced and readable only by its owner', async (t) => {
  const folder = await makeFolder(t)
  const file = path.join(folder, 'a')
  await writeWhole(file, 'one')
  await writeWhole(file, Buffer.from('two'), { flush: true })
  assert.equal(await readFile(file, 'utf8'), 'two')
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.deepEqual(await readdir(folder), ['a'])
})

test('a failed write leaves no file behind', async (t) => {
  const folder = await makeFolder(t)
  // A folder cannot be replaced by a file.
  await mkdir(path.join(folder, 'a'))
  await assert.rejects(writeWhole(path.join(folder, 'a'), 'one'))
  assert.deepEqual(await readdir(folder), ['a'])
})
