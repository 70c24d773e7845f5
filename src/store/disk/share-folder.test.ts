import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { test, type TestContext } from 'node:test'
import { createShareFolder } from './share-folder.ts'

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'agent-core-share-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const content = (text: string) => () => Readable.from([Buffer.from(text)])

test('a file is copied to a folder named after its request, and a second copy to a folder beside it', async (t) => {
  const root = path.join(await makeFolder(t), 'deep', 'share')
  const share = createShareFolder(root)
  assert.equal(await share.copy('r1', 'a.txt', content('one')), path.join(root, 'r1', 'a.txt'))
  const second = await share.copy('r1', 'a.txt', content('two'))
  assert.match(path.relative(root, second), /^r1-[0-9a-f-]{36}\/a\.txt$/)
  assert.equal(await readFile(path.join(root, 'r1', 'a.txt'), 'utf8'), 'one')
  assert.equal(await readFile(second, 'utf8'), 'two')
})

test('a share folder that is a symbolic link is refused', async (t) => {
  const folder = await makeFolder(t)
  await mkdir(path.join(folder, 'elsewhere'))
  await symlink(path.join(folder, 'elsewhere'), path.join(folder, 'share'))
  await assert.rejects(createShareFolder(path.join(folder, 'share')).copy('r1', 'a.txt', content('x')))
  assert.deepEqual(await readdir(path.join(folder, 'elsewhere')), [])
})

test('a symbolic link with the name of the request is not followed', async (t) => {
  const folder = await makeFolder(t)
  await mkdir(path.join(folder, 'elsewhere'))
  await mkdir(path.join(folder, 'share'))
  await symlink(path.join(folder, 'elsewhere'), path.join(folder, 'share', 'r1'))
  const copy = await createShareFolder(path.join(folder, 'share')).copy('r1', 'a.txt', content('x'))
  assert.match(copy, /r1-[0-9a-f-]{36}\/a\.txt$/)
  assert.deepEqual(await readdir(path.join(folder, 'elsewhere')), [])
})

test('a failed copy leaves no file', async (t) => {
  const root = await makeFolder(t)
  const broken = () =>
    Readable.from(
      (function* () {
        yield Buffer.from('half')
        throw new Error('broken')
      })(),
    )
  await assert.rejects(createShareFolder(root).copy('r1', 'a.txt', broken), /broken/)
  assert.deepEqual(await readdir(root), [])
})
