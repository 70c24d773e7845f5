import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { loadSettings } from '../settings/settings.ts'
import { createMissing } from './prepare.ts'

test('processes that start together in a folder create its files once and completely', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'agent-core-prepare-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const environment = { DATABASE_URL: 'postgres://u:p@127.0.0.1/d', SECRET_KEY: 'k'.repeat(32) }
  const starts = Array.from({ length: 8 }, (_, n) => createMissing(loadSettings({ ...environment, DATA_DIR: `data-${n}` }, folder)))
  const createdPaths = (await Promise.all(starts)).flat()
  assert.deepEqual(createdPaths, [path.join(folder, 'files')])
  assert.deepEqual((await readdir(path.join(folder, 'files'))).toSorted(), ['data', 'handbook'])
  assert.equal((await readdir(folder)).filter((name) => name.startsWith('files')).length, 1)
})
