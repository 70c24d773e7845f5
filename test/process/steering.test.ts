import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../proofs/kills/databases.ts'
import { createRandom } from '../../proofs/random.ts'
import { steerWhileKilling } from '../../proofs/steering/steer.ts'

const runs = 200
const kills = 3

for (const database of Object.keys(databases) as (keyof typeof databases)[])
  test(`messages to ${runs} runs, of which ${kills} kills cut some off, are delivered once and in order, on ${database}`, async (t) => {
    const { faults, ...report } = await steerWhileKilling(t, { database, runs, kills, random: createRandom(1) })
    assert.deepEqual(faults, [])
    assert.ok(report.delivered > runs / 4 && report.continued > runs / 8, JSON.stringify(report))
    t.diagnostic(JSON.stringify(report))
  })
