import { checkKeys } from './keys.ts'
import { pick, testProperty } from './seeded-anomalies-fixture.ts'

testProperty('keys', checkKeys, {
  'a revoked key that is accepted after the bound': {
    wrong: (history, random) =>
      void Object.assign(
        pick(history, 'use key', random, ({ status }) => status === 401),
        { result: 'ok', status: 200 },
      ),
    found: /accepts it \d+ ms after its revocation/,
  },
  'a key that is refused before its revocation': {
    wrong: (history, random) => {
      const use = pick(history, 'use key', random, ({ status }) => status === 200)
      Object.assign(use, { result: 'fail', status: 401, endedAt: use.invokedAt + 1 })
      for (const operation of history)
        if (operation.kind === 'revoke key' && operation.args.key === use.args.key) operation.invokedAt = use.endedAt + 1
    },
    found: /refuses it, though nobody has revoked it/,
  },
})
