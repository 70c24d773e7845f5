import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkLimits } from './limits.ts'
import { anomaliesOf, pick, testProperty } from './seeded-anomalies-fixture.ts'

testProperty('limits', (facts) => checkLimits(facts, new Map()), {
  'a request over the limit': {
    wrong: (history, random) => {
      const refused = pick(history, 'limited request', random, ({ result, invokedAt }) => result === 'fail' && invokedAt < 55_000)
      Object.assign(refused, { result: 'ok', status: 200, process: 'replica-1#1' })
    },
    found: /more than 20 requests within a minute/,
  },
})

test('limits: finds a run over the limit of concurrent runs, and none where runs follow each other', () => {
  const found = (isOverlapping: boolean, isRepeated = false) =>
    anomaliesOf(
      ({ add }) => {
        for (let n = 0; n < 3; n++) {
          const requestId = `r${n}`
          const args = { requestId, session: requestId, position: 0, mode: 'json', kind: 'slow', caller: 'narrow' } as const
          if (isRepeated && n === 2)
            Object.assign(add('c', 'chat', args, { process: 'replica-2#1' }), { result: 'unknown', reply: undefined })
          add('c', 'chat', args, { process: 'replica-1#1', reply: { output: `${n}`, finish: 'stop' } })
          const call = add('model', 'model call', { requestId })
          const invokedAt = isOverlapping ? 100 : 100 * n
          Object.assign(call, { invokedAt, endedAt: invokedAt + 100 })
        }
      },
      new Map([['narrow', 2]]),
    )
  assert.match(found(true).join(), /3 runs at the same time, of 2/)
  assert.deepEqual(found(false), [])
  assert.deepEqual(found(true, true), [], 'the run of a repeated chat may have been in another process')
})
