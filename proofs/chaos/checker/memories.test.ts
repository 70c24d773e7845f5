import { checkMemories } from './memories.ts'
import { pick, remove, testProperty } from './seeded-anomalies-fixture.ts'

testProperty('memories', checkMemories, {
  'a memory that is lost': {
    wrong: (history, random) =>
      remove(
        history,
        pick(history, 'forget memory', random, ({ endedAt }) => endedAt < 40_000),
      ),
    found: /lacks m\d+/,
  },
  'a memory that comes back after its deletion': {
    wrong: (history, random) =>
      void pick(history, 'list memories', random, ({ invokedAt }) => invokedAt > 30_000).reply!.memories.push({
        id: 'm1',
        content: 'fact 1',
      }),
    found: /shows m1 after its deletion/,
  },
  'a memory that is kept twice': {
    wrong: (history, random) => {
      const { memories } = pick(history, 'list memories', random).reply!
      memories.push({ ...memories[0]!, id: 'another' })
    },
    found: /shows one twice/,
  },
})
