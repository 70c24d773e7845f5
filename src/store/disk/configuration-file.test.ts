import assert from 'node:assert/strict'
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { FileChanged } from '../../configuration/configuration-store.ts'
import { createConfigurationFile } from './configuration-file.ts'

async function makeFile(t: Pick<TestContext, 'after'>, text = 'one\n') {
  const folder = await mkdtemp(path.join(tmpdir(), 'configuration-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const name = path.join(folder, 'agent.yaml')
  await writeFile(name, text)
  return { folder, name, file: createConfigurationFile(name, path.join(folder, 'data')) }
}

test('replace writes the whole text, keeps the mode of the file, and leaves no draft', async (t) => {
  const { folder, name, file } = await makeFile(t)
  await chmod(name, 0o640)
  await file.replace('one\n', 'two\n')
  assert.deepEqual([await file.read(), (await stat(name)).mode & 0o777, await readdir(folder)], ['two\n', 0o640, ['agent.yaml']])
})

test('a file changed by another program meanwhile is not replaced', async (t) => {
  const { folder, file } = await makeFile(t)
  await assert.rejects(file.replace('other\n', 'two\n'), FileChanged)
  assert.deepEqual({ read: await file.read(), readdir: await readdir(folder) }, { read: 'one\n', readdir: ['agent.yaml'] })
})

test('replace changes the target of a symbolic link and keeps the link', async (t) => {
  const { folder, name, file } = await makeFile(t)
  await mkdir(path.join(folder, 'real'))
  await rename(name, path.join(folder, 'real', 'agent.yaml'))
  await symlink(path.join('real', 'agent.yaml'), name)
  await file.replace('one\n', 'two\n')
  assert.ok((await lstat(name)).isSymbolicLink())
  assert.equal(await readFile(path.join(folder, 'real', 'agent.yaml'), 'utf8'), 'two\n')
})

test('the last twenty backups are kept, readable by their owner only', async (t) => {
  const { folder, file } = await makeFile(t)
  const copies: string[] = []
  for (let n = 0; n < 23; n++) {
    copies.push((await file.backUp(`${n}`)).path)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  const data = path.join(folder, 'data')
  assert.deepEqual(
    (await readdir(path.join(data, 'config-backups'))).toSorted(),
    copies
      .slice(3)
      .map((copy) => path.basename(copy))
      .toSorted(),
  )
  const [last] = copies.slice(-1)
  assert.deepEqual([await readFile(path.join(data, last!), 'utf8'), (await stat(path.join(data, last!))).mode & 0o777], ['22', 0o600])
})

test('backups of the file are listed newest first with their times, and equal texts in a row share one backup', async (t) => {
  const { folder, file } = await makeFile(t)
  const from = Date.now()
  for (const text of ['a', 'b', 'b', 'a']) {
    await file.backUp(text)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  const again = await file.backUp('a')
  await again.remove()
  await createConfigurationFile(path.join(folder, 'agent-other.yaml'), path.join(folder, 'data')).backUp('other')
  const copies = await file.backups()
  assert.deepEqual(
    copies.map(({ text }) => text),
    ['a', 'b', 'a'],
  )
  assert.ok(copies.every(({ at }) => at >= from && at <= Date.now()))
})

test('changes in place, by a rename, and into a symbolic link are noticed', async (t) => {
  const { folder, name, file } = await makeFile(t)
  let notice = Promise.withResolvers<void>()
  const watching = file.watch(() => notice.resolve())
  t.after(() => watching.close())
  const noticed = async (change: () => Promise<void>) => {
    notice = Promise.withResolvers<void>()
    await change()
    const awake = setTimeout(() => {}, 20_000)
    await notice.promise
    clearTimeout(awake)
  }
  await noticed(() => writeFile(name, 'two\n'))
  await noticed(async () => {
    await writeFile(`${name}~`, 'three\n')
    await rename(`${name}~`, name)
  })
  // As Kubernetes mounts a ConfigMap.
  await mkdir(path.join(folder, 'v1'))
  await writeFile(path.join(folder, 'v1', 'agent.yaml'), 'four\n')
  await symlink('v1', path.join(folder, '..data'))
  await noticed(async () => {
    await unlink(name)
    await symlink(path.join('..data', 'agent.yaml'), name)
  })
  assert.equal(await file.read(), 'four\n')
})
