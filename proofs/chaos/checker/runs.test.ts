import { pick, remove, testProperty } from './seeded-anomalies-fixture.ts'
import { checkRuns } from './runs.ts'

testProperty('runs', checkRuns, {
  'a run that has not ended': {
    wrong: (history, random) => void (pick(history, 'read run', random, ({ args }) => args.isLast).reply!.state = 'running'),
    found: /is still running/,
  },
  'an acknowledged run that is not there': {
    wrong: (history, random) =>
      void Object.assign(
        pick(history, 'read run', random, ({ args }) => args.isLast),
        { status: 404, reply: undefined },
      ),
    found: /was acknowledged, but is answered with status 404/,
  },
  'a confirmed cancellation without effect': {
    wrong: (history, random) => {
      const { args, endedAt } = pick(history, 'chat', random, ({ args: { mode } }) => mode === 'async')
      const times = { invokedAt: endedAt, endedAt: endedAt + 10 }
      const answer = { process: 'replica-1#1', result: 'ok', status: 200, reply: { state: 'cancelled' } } as const
      history.push({ client: 'c', kind: 'cancel', args: { requestId: args.requestId }, ...times, ...answer })
    },
    found: /was cancelled, but ended as success/,
  },
  'a callback that never came': {
    wrong: (history, random) => remove(history, pick(history, 'callback', random)),
    found: /was never called back/,
  },
  'a callback under two ids': {
    wrong: (history, random) => {
      const callback = pick(history, 'callback', random)
      history.push({ ...callback, args: { ...callback.args, id: 'another' } })
    },
    found: /was called back under 2 ids/,
  },
  'a callback that nobody asked for': {
    wrong: (history, random) => {
      const { args } = pick(history, 'chat', random, ({ args: { mode } }) => mode === 'json')
      pick(history, 'callback', random).args = { requestId: args.requestId, id: 'one' }
    },
    found: /nobody asked for it/,
  },
})
