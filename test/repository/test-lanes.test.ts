import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const cwd = fileURLToPath(new URL('../..', import.meta.url))

test('each test file runs in one of the three lanes, test:unit, test:contract or test:system', async () => {
  const { scripts } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as {
    scripts: Record<'test:unit' | 'test:contract' | 'test:system', string>
  }
  const filesOf = (script: string) => [...script.matchAll(/"([^"]+\.test\.ts)"/g)].flatMap(([, pattern]) => globSync(pattern!, { cwd }))
  const all = globSync('{src,demo-model,client,test,scripts,bench,proofs,console}/**/*.test.ts', { cwd })
  const lanes = [scripts['test:unit'], scripts['test:contract'], scripts['test:system']]
  const run = lanes.flatMap(filesOf)
  assert.deepEqual(run.toSorted(), all.toSorted())
})
