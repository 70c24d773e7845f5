import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { openSigningKey } from '../access/keys.ts'
import { createSigningKeyFile } from './signing-key-file.ts'

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'signing-key-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

test('the key is kept for its owner alone and found again by another store', async (t) => {
  const folder = path.join(await folderOf(t), 'data')
  const { kid } = await openSigningKey(createSigningKeyFile(folder))
  assert.equal((await stat(path.join(folder, 'signing-key.json'))).mode & 0o777, 0o600)
  assert.equal((await openSigningKey(createSigningKeyFile(folder))).kid, kid)
})

test('racers end with one key, and leave no draft behind', async (t) => {
  const folder = await folderOf(t)
  const opened = await Promise.all(Array.from({ length: 8 }, () => openSigningKey(createSigningKeyFile(folder))))
  assert.equal(new Set(opened.map((key) => key.kid)).size, 1)
  assert.deepEqual(await readdir(folder), ['signing-key.json'])
})

test('a broken file is told and never replaced', async (t) => {
  const folder = await folderOf(t)
  const file = path.join(folder, 'signing-key.json')
  await writeFile(file, '{"kty":')
  await assert.rejects(openSigningKey(createSigningKeyFile(folder)), /signing-key\.json does not hold a signing key/)
  await writeFile(file, 'null')
  await assert.rejects(openSigningKey(createSigningKeyFile(folder)), /does not hold a signing key/)
})

test('before the first save there is no key', async (t) => {
  assert.equal(await createSigningKeyFile(path.join(await folderOf(t), 'nowhere')).load(), undefined)
})
