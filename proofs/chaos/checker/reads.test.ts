import { pick, testProperty } from './seeded-anomalies-fixture.ts'
import { checkReads } from './reads.ts'

testProperty('reads', checkReads, {
  'a session that becomes shorter': {
    wrong: (history, random) => {
      const read = pick(history, 'read session', random, ({ args, reply }) => args.isLast && reply!.messages.length >= 6)
      read.reply = { messages: read.reply!.messages.slice(0, 2) }
    },
    found: /shows 2 messages after/,
  },
  'a read that lacks what was answered before it': {
    wrong: (history, random) => {
      const chat = pick(history, 'chat', random, ({ args, endedAt }) => args.mode === 'json' && endedAt < 40_000)
      for (const operation of history)
        if (operation.kind === 'read session' && operation.args.session === chat.args.session)
          operation.reply = {
            messages: operation.reply!.messages.filter(
              ({ content, requestId }) => requestId !== chat.args.requestId && !content.startsWith(`${chat.args.requestId} `),
            ),
          }
    },
    found: /does not show r\d+, which was answered before the read/,
  },
  'a run that is not found after its acknowledgement': {
    wrong: (history, random) =>
      void Object.assign(
        pick(history, 'read run', random, ({ args }) => args.isLast),
        { result: 'fail', status: 404, reply: undefined },
      ),
    found: /does not find the run, which was acknowledged/,
  },
  'a run that was successful and is running again': {
    wrong: (history, random) => {
      const { args } = pick(history, 'read run', random, (read) => !read.args.isLast)
      const last = pick(history, 'read run', random, (read) => read.args.isLast && read.args.requestId === args.requestId)
      last.reply = { state: 'running', hasUnknownOutcome: false }
    },
    found: /shows running after .* showed success/,
  },
  'a list with another end than the run has': {
    wrong: (history, random) => void (pick(history, 'list runs', random).reply!.runs[0]!.state = 'error'),
    found: /lists it as error, but it ended as success/,
  },
  'a deleted session that is still shown': {
    wrong: (history, random) => {
      const { args, invokedAt } = pick(history, 'read session', random, ({ args: { isLast } }) => isLast)
      const times = { invokedAt: invokedAt - 2, endedAt: invokedAt - 1 }
      history.push({
        client: 'c',
        process: 'replica-1#1',
        kind: 'delete session',
        args: { session: args.session },
        ...times,
        result: 'ok',
        status: 200,
        reply: {},
      })
    },
    found: /shows it after its deletion/,
  },
  'a deleted session that is still listed': {
    wrong: (history, random) => {
      const { invokedAt, reply } = pick(history, 'list sessions', random)
      const times = { invokedAt: invokedAt - 2, endedAt: invokedAt - 1 }
      history.push({
        client: 'c',
        process: 'replica-1#1',
        kind: 'delete session',
        args: { session: reply!.sessions[0]! },
        ...times,
        result: 'ok',
        status: 200,
        reply: {},
      })
    },
    found: /lists it after its deletion/,
  },
})
