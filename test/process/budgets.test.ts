import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../proofs/kills/databases.ts'
import { killBetweenRequestAndReply } from '../../proofs/kills/kills.ts'
import { createRandom } from '../../proofs/random.ts'

// A process takes runs over one at a time once they have been lost several times.
const kills = 2
const chats = 24

for (const database of Object.keys(databases) as (keyof typeof databases)[])
  test(`${kills * chats} calls whose process is killed before the answer are paid in full, on ${database}`, async (t) => {
    const { faults, lost, answered, counted, estimated } = await killBetweenRequestAndReply(t, {
      database,
      kills,
      chats,
      random: createRandom(1),
    })
    assert.deepEqual(faults, [])
    assert.ok(lost >= kills * chats && answered >= kills)
    t.diagnostic(`${answered} answers, ${counted / 1e9} USD counted, ${lost} lost, ${estimated / 1e9} USD estimated`)
  })
