import { after, test } from 'node:test'
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openFilesRoot, PathError } from './root.ts'

const base = await mkdtemp(path.join(tmpdir(), 'files-root-'))
after(() => rm(base, { recursive: true }))
const folder = path.join(base, 'files')
await mkdir(path.join(folder, 'docs', 'deep'), { recursive: true })
await mkdir(path.join(folder, '.hidden'))
await mkdir(path.join(base, 'files-beside'))
for (const name of ['files/a.md', 'files/docs/b.md', 'files/docs/deep/c.txt', 'files/.hidden/d.md', 'secret.md', 'files-beside/e.md']) {
  await writeFile(path.join(base, name), name)
}
await symlink(path.join(base, 'secret.md'), path.join(folder, 'docs', 'link.md'))
await symlink(base, path.join(folder, 'up'))
await symlink(path.join(folder, 'a.md'), path.join(folder, 'docs', 'inside.md'))
const root = await openFilesRoot(folder)

test('a file is found under every spelling of its path', async () => {
  for (const spelling of ['docs/b.md', './docs//b.md', 'docs/deep/../b.md', path.join(folder, 'docs/b.md')]) {
    assert.equal(root.normalise(spelling), 'docs/b.md', spelling)
    assert.equal(await root.resolve(spelling), path.join(root.path, 'docs/b.md'))
  }
})

test('no path leaves the root', async () => {
  const attacks = [
    '../secret.md',
    'docs/../../secret.md',
    '/etc/passwd',
    '../files-beside/e.md',
    '..',
    'docs/link.md',
    'up/secret.md',
    'a.md\0.txt',
  ]
  for (const attack of attacks) await assert.rejects(root.resolve(attack), PathError, attack)
})

test('a link that stays inside is followed', async () => {
  assert.equal(await root.resolve('docs/inside.md'), path.join(root.path, 'a.md'))
})

test('a missing path or a folder is refused under the requested name', async () => {
  await assert.rejects(root.resolve('docs/none.md'), /^PathError: docs\/none\.md does not exist\.$/)
  await assert.rejects(root.resolve('docs'), /docs is not a file/)
})

test('a list has the matching files, without hidden files and links to the outside', async () => {
  assert.deepEqual(await root.list(['**']), ['a.md', 'docs/b.md', 'docs/deep/c.txt', 'docs/inside.md'])
  assert.deepEqual(await root.list(['docs/*.md', '**/c.*']), ['docs/b.md', 'docs/deep/c.txt', 'docs/inside.md'])
  assert.deepEqual(await root.list(['../*.md', '/etc/*', 'none/**']), [])
})
