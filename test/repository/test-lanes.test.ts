import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const cwd = fileURLToPath(new URL('../..', import.meta.url))

const lanes = ['test:unit', 'test:contract', 'test:console', 'test:programs'] as const

test('each test file runs in one lane; the lane test:system runs test:console and test:programs', async () => {
  const { scripts } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as {
    scripts: Record<(typeof lanes)[number] | 'test:system', string>
  }
  const filesOf = (script: string) => [...script.matchAll(/"([^"]+\.test\.ts)"/g)].flatMap(([, pattern]) => globSync(pattern!, { cwd }))
  const all = globSync('{src,demo-model,client,test,scripts,bench,proofs,console}/**/*.test.ts', { cwd })
  const run = lanes.flatMap((lane) => filesOf(scripts[lane]))
  assert.deepEqual(run.toSorted(), all.toSorted())
  assert.match(scripts['test:system'], / console programs \| xargs .* npm run -s test:\{\}$/)
})
