import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const cwd = fileURLToPath(new URL('../..', import.meta.url))

test('each test file runs in one of the two lanes, test:unit or test:system', async () => {
  const { scripts } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as {
    scripts: Record<'test:unit' | 'test:system', string>
  }
  const filesOf = (script: string) => [...script.matchAll(/"([^"]+\.test\.ts)"/g)].flatMap(([, pattern]) => globSync(pattern!, { cwd }))
  const all = globSync('{src,client,test,scripts,bench,chaos,console}/**/*.test.ts', { cwd })
  const run = [...filesOf(scripts['test:unit']), ...filesOf(scripts['test:system'])]
  assert.deepEqual(run.toSorted(), all.toSorted())
})
