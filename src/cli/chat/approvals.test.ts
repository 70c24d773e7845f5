import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CommandFailure } from '../terminal.ts'
import { createTestTerminal } from '../terminal-fixture.ts'
import { decideCalls, howToDecide } from './approvals.ts'
import { ServiceRefusal, type Decision } from './service-client.ts'

const calls = [
  { tool_call_id: 'c1', tool: 'send', tool_input: { to: 'a\u001B[2J' } },
  { tool_call_id: 'c2', tool: 'drop', tool_input: {} },
]

/** A person who gives these answers, and a service that refuses the decisions that it is told to. */
async function decide(
  answers: (string | undefined)[],
  refused: (decision: Decision) => string | ServiceRefusal | undefined = () => undefined,
) {
  const { terminal, out } = createTestTerminal('.', { isTTY: true })
  const sent: Decision[] = []
  const questions: string[] = []
  const isDecided = await decideCalls(
    { request_id: 'r', calls },
    {
      stdout: terminal.stdout,
      cancelled: new AbortController().signal,
      person: {
        async answer(question, _signal, text = '') {
          questions.push(question + text)
          return answers.shift()
        },
      },
      client: {
        async decide(_requestId, decision) {
          const refusal = refused(decision)
          if (refusal) throw typeof refusal === 'string' ? new CommandFailure(1, [refusal]) : refusal
          sent.push(decision)
        },
      },
    },
  )
  return { isDecided, sent, questions, out: out() }
}

test('each call is shown in full and decided by a word or its first letter; a reason may follow "no"', async () => {
  const { isDecided, sent, out } = await decide(['Y', 'no, keep it'])
  assert.ok(isDecided)
  assert.deepEqual(sent, [
    { tool_call_id: 'c1', decision: 'approve' },
    { tool_call_id: 'c2', decision: 'reject', reason: 'keep it' },
  ])
  assert.equal(out, '? send {\n  "to": "a\\u001b[2J"\n}\n? drop {}\n')
})

test('invisible characters are shown as escapes', async () => {
  const { terminal, out } = createTestTerminal('.', { isTTY: true })
  const person = { answer: async () => undefined }
  const [call] = calls
  const waiting = { request_id: 'r', calls: [{ ...call!, tool_input: { to: 'a\u202Eb' } }] }
  const client = { decide: async () => undefined }
  await decideCalls(waiting, { client, person, stdout: terminal.stdout, cancelled: new AbortController().signal })
  assert.match(out(), /"to": "a\\u202eb"/)
})

test('an unclear reply approves nothing, and the question is asked again', async () => {
  const { sent, questions } = await decide(['', 'yesterday', 'y but', '1', ' yes ', 'n'])
  assert.equal(questions.length, 6)
  assert.deepEqual(
    sent.map(({ decision }) => decision),
    ['approve', 'reject'],
  )
})

test('edited input replaces the original input; input that is no object or is refused is asked for again', async () => {
  const answers = ['e', '{"to":', 'edit', '{"to":1}', 'e', '{"to":"b"}', 'y']
  const { sent, questions, out } = await decide(answers, ({ tool_input: input }) =>
    input && JSON.stringify(input).includes('1') ? 'tool_input: to must be a string' : undefined,
  )
  assert.deepEqual(sent[0], { tool_call_id: 'c1', decision: 'approve', tool_input: { to: 'b' } })
  assert.equal(questions[1], 'input: {"to":"a\\u001b[2J"}')
  assert.match(out, /The input must be a JSON object\.\n[\s\S]*tool_input: to must be a string\n/)
})

test('a call that another person must decide, or has decided, is not asked for again', async () => {
  const statuses = { c1: 403, c2: 409 }
  const { isDecided, questions, sent, out } = await decide(
    ['y', 'y'],
    ({ tool_call_id: id }) => new ServiceRefusal(statuses[id as keyof typeof statuses], `not ${id}`),
  )
  assert.deepEqual({ isDecided, questionCount: questions.length, sent }, { isDecided: true, questionCount: 2, sent: [] })
  assert.match(out, /not c1\nThe answer continues once the call is decided; Ctrl-C cancels the answer\.\n[\s\S]*not c2\n$/)
})

test('when the person leaves, no further call is decided', async () => {
  assert.deepEqual(await decide(['y', undefined]).then(({ isDecided, sent }) => [isDecided, sent.length]), [false, 1])
  assert.deepEqual(await decide(['e', undefined]).then(({ isDecided, sent }) => [isDecided, sent.length]), [false, 0])
})

test('callers without a terminal get instructions for deciding the waiting calls', () => {
  assert.equal(
    howToDecide({ request_id: 'r', calls: calls.slice(1) }),
    'drop {} waits for approval: {"tool_call_id":"c2","decision":"approve"}\n' +
      'Send such a decision, "approve" or "reject", to POST /core/v1/runs/r/approvals, or chat in a terminal.',
  )
})
