import { pick, testProperty } from './seeded-anomalies-fixture.ts'
import { checkRequests } from './requests.ts'

testProperty('requests', checkRequests, {
  'a repeated request with another answer': {
    wrong: (history, random) => {
      const chat = pick(history, 'chat', random, ({ args }) => args.mode === 'json')
      history.push({ ...chat, reply: { output: 'Another answer', finish: 'stop' } })
    },
    found: /run r\d+: .* "Another answer"/,
  },
  'a run that shows another answer than its stream had': {
    wrong: (history, random) => {
      const { args } = pick(history, 'chat', random, ({ args: { mode } }) => mode === 'stream')
      for (const operation of history)
        if (operation.kind === 'read run' && operation.args.requestId === args.requestId)
          operation.reply = { ...operation.reply!, output: 'Another answer' }
    },
    found: /run r\d+: .* "Another answer"/,
  },
})
