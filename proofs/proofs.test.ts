import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { proofs, selectProofs } from './proofs.ts'
import { formatReport, runProofs } from './run-proofs.ts'

test('a scale shortens every proof, down to what its program accepts', () => {
  const argumentsOf = (scale: number) => proofs.map(({ name, argumentsFor }) => `${name} ${argumentsFor(scale, 7).join(' ')}`)
  assert.deepEqual(argumentsOf(0.05), [
    'chaos --seconds 30 --seed 7',
    'interleavings --schedules 5000 --threads 2 --seed 7',
    'disk-faults --scripts 20 --losses 2 --seed 7',
    'kills --kills 5 --seed 7',
    'ledger --writes 500 --seed 7',
    'steering --runs 100 --kills 2 --seed 7',
    'hostile --requests 5000 --seed 7',
    'soak --minutes 3 --seed 7',
  ])
  assert.ok(argumentsOf(0.0001).includes('hostile --requests 100 --seed 7'))
})

test('single proofs can be selected, by their names', () => {
  assert.deepEqual(
    selectProofs(['soak', 'chaos']).map(({ name }) => name),
    ['chaos', 'soak'],
  )
  assert.equal(selectProofs([]).length, proofs.length)
  assert.throws(() => selectProofs(['luck']), /There is no proof "luck"/)
})

test('every proof runs, also after one has failed, and the report names the failure', async () => {
  const cwd = await mkdtemp(path.join(os.tmpdir(), 'agent-core-proof-'))
  try {
    await writeFile(path.join(cwd, 'proof.mjs'), 'process.exitCode = Number(process.argv[2])')
    const proofOf = (code: number) => ({ name: `exits-with-${code}`, script: 'proof.mjs', argumentsFor: () => [String(code)] })
    const results = await runProofs([proofOf(1), proofOf(0)], { scale: 1, seed: 1, cwd, stdio: 'ignore' })
    assert.deepEqual(
      results.map(({ code }) => code),
      [1, 0],
    )
    const lines = formatReport(results.map((result) => ({ ...result, seconds: 2 })))
    assert.deepEqual(lines, ['  exits-with-1   FAILED (exit code 1), 2 s, 1', '  exits-with-0   passed, 2 s, 0', '1 of 2 proofs FAILED.'])
  } finally {
    await rm(cwd, { recursive: true })
  }
})
