import { test, type TestContext } from 'node:test'
import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createSnapshotFile } from './snapshot.ts'

async function prepare(t: TestContext) {
  const folder = await mkdtemp(path.join(tmpdir(), 'snapshot-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  let makeCount = 0
  const make = async () => Buffer.from(`memory ${++makeCount}`)
  return { folder, open: () => createSnapshotFile(path.join(folder, 'cache'), make), makeCount: () => makeCount }
}

test('a snapshot is made once, for this start and for later ones', async (t) => {
  const { folder, open, makeCount } = await prepare(t)
  const file = open()
  const [first, second] = await Promise.all([file.path(), file.path()])
  assert.equal(first, second)
  assert.equal(await open().path(), first)
  assert.equal(makeCount(), 1)
  assert.equal(await readFile(first, 'utf8'), 'memory 1')
  assert.equal((await stat(first)).mode & 0o777, 0o600)
  assert.equal(path.dirname(first), path.join(folder, 'cache'))
})

test('a damaged snapshot is made again, and snapshots of other versions are deleted', async (t) => {
  const { open, makeCount } = await prepare(t)
  const first = await open().path()
  await writeFile(first, 'memory', { flag: 'w' })
  await writeFile(path.join(path.dirname(first), 'python-0.1-abc-def.snapshot'), 'old')
  await writeFile(path.join(path.dirname(first), 'other.ndjson'), 'of another tool')
  const second = await open().path()
  assert.equal(makeCount(), 2)
  assert.equal(await readFile(second, 'utf8'), 'memory 2')
  assert.deepEqual((await readdir(path.dirname(first))).sort(), ['other.ndjson', path.basename(second)])
})

test('an unusable snapshot is deleted, and a failure to make a snapshot is not cached', async (t) => {
  const { folder, open } = await prepare(t)
  const file = open()
  const first = await file.path()
  await file.discard()
  assert.notEqual(await file.path(), first)
  let fails = true
  const failing = createSnapshotFile(path.join(folder, 'other'), () =>
    fails ? Promise.reject(new Error('no')) : Promise.resolve(Buffer.from('x')),
  )
  await assert.rejects(failing.path(), /no/)
  fails = false
  assert.equal(await readFile(await failing.path(), 'utf8'), 'x')
})

test('abandoned drafts are deleted, but recent drafts of other processes stay', async (t) => {
  const { open } = await prepare(t)
  const first = await open().path()
  const [old, young] = [`${first}.old`, `${first}.young`]
  await writeFile(old, 'half')
  await writeFile(young, 'half')
  await utimes(old, new Date(0), new Date(0))
  assert.equal(await open().path(), first)
  assert.deepEqual((await readdir(path.dirname(first))).sort(), [path.basename(first), path.basename(young)])
})
