import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { createPrivateFile } from './private-file.ts'

async function fileIn(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'private-file-'))
  t.after(() => rm(folder, { recursive: true }))
  return path.join(folder, 'new', 'secret')
}

test('a secret is stored in a file readable by its owner only, in a new folder, and read back', async (t) => {
  const file = await fileIn(t)
  assert.equal(await createPrivateFile(file).load(), undefined)
  assert.equal(await createPrivateFile(file).change((kept) => kept ?? 'one'), 'one')
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.equal((await stat(path.dirname(file))).mode & 0o777, 0o700)
  assert.equal(await createPrivateFile(file).change((kept) => kept ?? 'two'), 'one')
  assert.equal(await readFile(file, 'utf8'), 'one\n')
})

test('processes that start together all get the secret of the first', async (t) => {
  const file = await fileIn(t)
  const texts = await Promise.all(Array.from({ length: 8 }, (_, n) => createPrivateFile(file).change((kept) => kept ?? `text ${n}`)))
  assert.deepEqual([...new Set(texts)], [(await readFile(file, 'utf8')).trim()])
  assert.deepEqual(await readdir(path.dirname(file)), ['secret'])
})

test('a secret can be replaced depending on its current text', async (t) => {
  const text = createPrivateFile(await fileIn(t))
  await text.change(() => 'one')
  assert.equal(await text.change((kept) => `${kept} and two`), 'one and two')
  assert.equal(await text.load(), 'one and two')
})
