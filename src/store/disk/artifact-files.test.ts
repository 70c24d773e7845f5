import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import type { ArtifactBytes } from '../../artifacts/artifact-store.ts'
import { createArtifactFiles } from './artifact-files.ts'

async function open(t: TestContext) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'agent-core-artifacts-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const root = path.join(folder, 'artifacts')
  return { root, bytes: createArtifactFiles(root) }
}

async function foldersOf(bytes: ArtifactBytes): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of bytes.folders()) names.push(name)
  return names
}

test('files are readable by their owner only', async (t) => {
  const { root, bytes } = await open(t)
  await bytes.put({ folder: 's1', id: 'a1' }, Buffer.from('0123456789'))
  const modes = await Promise.all(
    [root, path.join(root, 's1'), path.join(root, 's1', 'a1')].map(async (one) => (await stat(one)).mode & 0o777),
  )
  assert.deepEqual(modes, [0o700, 0o700, 0o600])
  assert.deepEqual(await readdir(path.join(root, 's1')), ['a1'])
})

test('storing a file again keeps one file, and an abandoned draft is not a file', async (t) => {
  const { root, bytes } = await open(t)
  await bytes.put({ folder: 's1', id: 'a1' }, Buffer.from('x'))
  await writeFile(path.join(root, 's1', '.draft'), 'half')
  await bytes.copyAll('s1', 's2')
  assert.deepEqual(await readdir(path.join(root, 's2')), ['a1'])
  assert.deepEqual((await foldersOf(bytes)).sort(), ['s1', 's2'])
})

test('an old draft of a killed process is deleted, a recent one stays', async (t) => {
  const { root, bytes } = await open(t)
  await bytes.put({ folder: 's1', id: 'a1' }, Buffer.from('x'))
  const [left, written] = ['left', 'written'].map((name) => path.join(root, '.drafts', name))
  for (const file of [left!, written!]) await writeFile(file, 'half')
  await utimes(left!, 0, 0)
  await bytes.dropDrafts?.(Date.now() - 3_600_000)
  assert.deepEqual(await readdir(path.join(root, '.drafts')), ['written'])
  assert.deepEqual(await foldersOf(bytes), ['s1'])
})

test('a killed process leaves no draft among the files of a session', async (t) => {
  const { root, bytes } = await open(t)
  const seen = new Set<string>()
  const putting = bytes.put({ folder: 's1', id: 'a1' }, Buffer.alloc(20_000_000))
  let isDone = false
  void putting.finally(() => (isDone = true))
  while (!isDone) {
    for (const name of await readdir(path.join(root, 's1')).catch(() => [])) seen.add(name)
  }
  seen.delete('a1')
  assert.deepEqual([...seen], [])
})

test('symbolic links are not followed', async (t) => {
  const { root, bytes } = await open(t)
  await bytes.put({ folder: 's1', id: 'a1' }, Buffer.from('x'))
  await symlink('/etc/hostname', path.join(root, 's1', 'a2'))
  await assert.rejects(bytes.open({ folder: 's1', id: 'a2' }), { code: 'ELOOP' })
  assert.equal(await bytes.has({ folder: 's1', id: 'a2' }), false)
})
