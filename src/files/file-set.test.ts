import { after, test } from 'node:test'
import assert from 'node:assert/strict'
import { link, mkdir, mkdtemp, realpath, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createFileSet } from './file-set.ts'

const root = await realpath(await mkdtemp(path.join(tmpdir(), 'file-set-')))
after(() => rm(root, { recursive: true }))
for (const folder of ['v1', 'v2', 'docs']) await mkdir(path.join(root, folder))
for (const file of ['v1/a.csv', 'v2/a.csv', 'docs/plain.md', 'docs/.hidden.md', 'other.md']) await writeFile(path.join(root, file), file)
await symlink('v1', path.join(root, 'current'))

async function swap(name: string, target: string): Promise<void> {
  await unlink(path.join(root, name))
  await symlink(target, path.join(root, name))
}

test('a changed link is followed at once, whether named by path or by pattern', async () => {
  const sets = [createFileSet(root, { paths: ['current/a.csv'] }), createFileSet(root, { globs: ['current/*.csv'] })]
  for (const set of sets) assert.deepEqual([set.has('v1/a.csv'), set.has('v2/a.csv'), set.has('current/a.csv')], [true, false, true])
  await swap('current', 'v2')
  for (const set of sets) assert.deepEqual([set.has('v2/a.csv'), set.has('current/a.csv')], [true, true])
})

test('a file is recognized under all of its names, including hard links', async () => {
  await link(path.join(root, 'docs/plain.md'), path.join(root, 'twin.md'))
  for (const set of [createFileSet(root, { paths: ['docs/plain.md'] }), createFileSet(root, { globs: ['docs/**'] })]) {
    assert.deepEqual(['twin.md', 'docs/plain.md'].map(set.has), [true, true])
    assert.deepEqual(['other.md', 'docs', 'docs/.hidden.md', 'none.md', 'other.md/x'].map(set.has), [false, false, false, false, false])
  }
})

test('a new match of a pattern is noticed within a second', async () => {
  let time = 0
  const set = createFileSet(root, { globs: ['docs/*'], now: () => time })
  assert.equal(set.has('other.md'), false)
  await symlink('../other.md', path.join(root, 'docs/other.md'))
  time += 1_000
  assert.equal(set.has('other.md'), true)
})
