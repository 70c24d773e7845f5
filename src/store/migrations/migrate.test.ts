import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { migrationNames } from './migrate.ts'

test('every migration of the folder is listed, in order', () => {
  const files = readdirSync(import.meta.dirname).filter((file) => /^\d{4}-/.test(file))
  assert.deepEqual(migrationNames, files.map((file) => path.parse(file).name).toSorted())
})
