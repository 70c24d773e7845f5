import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Operation, SeenMessage } from '../history/operations.ts'
import { anomaliesOf, pick, testProperty } from './seeded-anomalies-fixture.ts'
import { checkSessions } from './sessions.ts'

/** A read of a session with several messages, and its messages. */
function longRead(history: readonly Operation[], random: () => number, isLast = false): SeenMessage[] {
  const read = pick(history, 'read session', random, ({ args, reply }) => args.isLast === isLast && reply!.messages.length >= 6)
  return (read.reply = structuredClone(read.reply!)).messages
}

testProperty('sessions', checkSessions, {
  'a message that changes between two reads': {
    wrong: (history, random) => void (longRead(history, random)[1]!.content = 'something else'),
    found: /two reads differ in message 1/,
  },
  'an acknowledged message that is lost': {
    wrong: (history, random) => void longRead(history, random, true).splice(2, 2),
    found: /has lost the acknowledged message/,
  },
  'a message that is stored twice': {
    wrong: (history, random) => {
      const messages = longRead(history, random, true)
      messages.push(messages[0]!)
    },
    found: /has the message of r\d+ twice/,
  },
  'an answer that is stored twice': {
    wrong: (history, random) => {
      const messages = longRead(history, random, true)
      messages.push(messages[1]!)
    },
    found: /is answered twice|the answer of r\d+ follows/,
  },
  'an answer behind another message': {
    wrong: (history, random) => {
      const messages = longRead(history, random, true)
      messages.splice(1, 1)
    },
    found: /has no answer of r\d+, which succeeded/,
  },
  'a message of another session': {
    wrong: (history, random) => void (longRead(history, random)[0]!.content = 'r9999 talk'),
    found: /a message that nobody sent to it/,
  },
  'messages of one client in another order': {
    wrong: (history, random) => {
      const messages = longRead(history, random, true)
      const ofClient = messages.filter(({ role }) => role === 'human').map(({ content }) => Number(/r(\d+)/.exec(content)![1]) % 4)
      const first = ofClient.findIndex((client, index) => ofClient.indexOf(client, index + 1) > 0)
      const second = ofClient.indexOf(ofClient[first]!, first + 1)
      const pairs = [messages.slice(first * 2, first * 2 + 2), messages.slice(second * 2, second * 2 + 2)]
      messages.splice(first * 2, 2, ...pairs[1]!)
      messages.splice(second * 2, 2, ...pairs[0]!)
    },
    found: /follows a later message of its client/,
  },
  'the message of a refused chat': {
    wrong: (history, random) => {
      const { args } = pick(history, 'chat', random, ({ args: { mode } }) => mode === 'json')
      for (const operation of history)
        if (operation.kind === 'chat' && operation.args.requestId === args.requestId)
          Object.assign(operation, { result: 'fail', status: 429, reply: undefined })
    },
    found: /which was refused/,
  },
})

const human = (requestId: string): SeenMessage => ({ role: 'human', content: `${requestId} talk`, requestId: undefined, finish: undefined })
const answer = (requestId: string, content: string, finish: string): SeenMessage => ({ role: 'ai', content, requestId, finish })

test('sessions: the partial answer of a continued run may be replaced, that of another run may not', () => {
  const differing = (times: number) =>
    anomaliesOf(({ add }) => {
      const args = { requestId: 'r1', session: 's', position: 0, mode: 'json', kind: 'talk', caller: 'admin' } as const
      for (let n = 0; n < times; n++) add('c', 'chat', args, { result: 'unknown' })
      for (const last of [answer('r1', 'It', 'cancelled'), answer('r1', 'It is done', 'stop')])
        add('c', 'read session', { session: 's', isLast: false }, { reply: { messages: [human('r1'), last] } })
    }).filter((anomaly) => anomaly.includes('differ'))
  assert.deepEqual(differing(2), [])
  assert.equal(differing(1).length, 1)
})

test('sessions: a chat that was given up and is sent again after a later one may follow it, an acknowledged one may not', () => {
  const misplaced = (first: 'unknown' | 'ok') =>
    anomaliesOf(({ add, history }) => {
      const chat = (position: number, result: 'unknown' | 'ok') => {
        const args = { requestId: `r${position}`, session: 's', position, mode: 'async', kind: 'talk', caller: 'admin' } as const
        const sent = add('c', 'chat', args, { result, reply: {} })
        // A client sends one chat after the other.
        Object.assign(sent, { invokedAt: history.length * 1000, endedAt: history.length * 1000 + 500 })
      }
      chat(1, first)
      chat(2, 'ok')
      chat(1, 'ok')
      add('c', 'read session', { session: 's', isLast: false }, { reply: { messages: [human('r2'), human('r1')] } })
    }).filter((anomaly) => anomaly.includes('follows a later message'))
  assert.deepEqual(misplaced('unknown'), [])
  assert.equal(misplaced('ok').length, 1)
})
