import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkEffects } from './effects.ts'
import { toFacts } from './facts.ts'
import { pick, remove, testProperty } from './seeded-anomalies-fixture.ts'
import { createSimulation, simulate } from './simulated-history-fixture.ts'

testProperty('effects', checkEffects, {
  'a write that is made twice': {
    wrong: (history, random) => {
      const effect = pick(history, 'effect', random)
      history.push({ ...effect, args: { ...effect.args, key: 'call-2' } })
    },
    found: /was made 2 times, under 2 keys/,
  },
  'a write that no chat asked for': {
    wrong: (history, random) => {
      const { args } = pick(history, 'chat', random, ({ args: { kind } }) => kind === 'talk')
      pick(history, 'effect', random).args.requestId = args.requestId
    },
    found: /was made without a call for it/,
  },
  'a call before its approval': {
    wrong: (history, random) => {
      const effect = pick(history, 'effect', random, ({ args }) => args.operation === 'seal')
      effect.invokedAt -= 5000
    },
    found: /was made before an approval/,
  },
  'a call before the approval that a text of strangers requires': {
    wrong: (history, random) => {
      const { args } = pick(history, 'chat', random, ({ args: { kind } }) => kind === 'doubt')
      pick(history, 'effect', random, ({ args: { requestId } }) => requestId === args.requestId).invokedAt -= 5000
    },
    found: /record: was made before an approval/,
  },
  'a call that was rejected': {
    wrong: (history, random) => void (pick(history, 'decide', random).args.decision = 'reject'),
    found: /was made before an approval/,
  },
  'an approved call that was not made': {
    wrong: (history, random) =>
      remove(
        history,
        pick(history, 'effect', random, ({ args }) => args.operation === 'seal'),
      ),
    found: /was approved, but not made/,
  },
})

test('effects: an approved call without a result may be reported as unknown', () => {
  const history = structuredClone(simulate(1))
  const effect = pick(history, 'effect', createSimulation(1).random, ({ args }) => args.operation === 'seal')
  remove(history, effect)
  for (const operation of history)
    if (operation.kind === 'read run' && operation.args.requestId === effect.args.requestId) operation.reply!.hasUnknownOutcome = true
  assert.deepEqual(checkEffects(toFacts(history)), [])
})
