import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { createKeptDescriptions } from './descriptions.ts'
import type { TableSource } from './tables.ts'

const source = (version: string): TableSource => ({ name: 'sales', format: 'csv', files: [{ path: '/files/sales.csv', version }] })
const tables = [{ name: 'sales', columns: [{ name: 'region', type: 'VARCHAR', values: ['North'] }] }]

test('descriptions are found for the same files only, and a broken file is none', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-core-'))
  t.after(() => rm(folder, { recursive: true }))
  const kept = createKeptDescriptions('sales', folder)
  assert.equal(await kept.find([source('1')]), undefined)
  await kept.keep([source('1')], tables)
  assert.deepEqual(await kept.find([source('1')]), tables)
  assert.equal(await kept.find([source('2')]), undefined)
  assert.equal(await createKeptDescriptions('other', folder).find([source('1')]), undefined)
  const [file] = await readdir(folder)
  await writeFile(path.join(folder, file!), '{"key"')
  assert.equal(await kept.find([source('1')]), undefined)
})
