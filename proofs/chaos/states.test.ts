import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { findUnreached } from './reached-states.ts'
import { embeddedStates, states } from './states.ts'

const src = fileURLToPath(new URL('../../src/', import.meta.url))

test('each rare state has a name of its own, and is published by its file alone', () => {
  const all = [...states, ...embeddedStates]
  assert.equal(new Set(all.map(({ name }) => name)).size, all.length)
  const published = globSync('**/*.ts', { cwd: src, exclude: ['**/*.test.ts'] }).flatMap((file) =>
    [...readFileSync(src + file, 'utf8').matchAll(/reachState\(([^\n]*)/g)].flatMap(([, rest]) =>
      [...rest!.matchAll(/'([a-z-]+)'/g)].map(([, name]) => `${name} ${file}`),
    ),
  )
  assert.deepEqual([...new Set(published)].toSorted(), all.map(({ name, file }) => `${name} ${file}`).toSorted())
})

test('a run must reach the states of its length, and fewer with few faults', () => {
  const unreached = (seconds: number, faults: number) => findUnreached(new Map(), seconds, faults).length
  assert.ok(unreached(600, 150) > unreached(120, 30))
  assert.equal(unreached(600, 30), unreached(120, 30))
  assert.equal(unreached(120, 150), unreached(120, 30))
  assert.equal(unreached(600, 0), 0)
})
