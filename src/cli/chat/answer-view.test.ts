import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAnswerView } from './answer-view.ts'
import { createTestTerminal } from '../terminal-fixture.ts'
import type { Chunk } from './service-client.ts'

type Step = NonNullable<Chunk['step']>

function chunk(agent_step: string, token = '', step?: Partial<Step>): Chunk {
  const whole: Step = {
    tool: 'sales',
    tool_input: { sql: 'select 1' },
    log: '',
    type: 'tool_call',
    output: [],
    status: 'success',
    execution_time: 0.034,
    started_at: '2026-01-01T00:00:00.000Z',
  }
  return { id: 'r', number: 1, usage: [], finish_reason: 'null', agent_step, token, ...(step && { step: { ...whole, ...step } }) }
}

function view(chunks: Chunk[], options: { isTTY?: boolean; environment?: Record<string, string> }): { out: string; err: string } {
  const { terminal, out, err } = createTestTerminal('.', options)
  const answerView = createAnswerView(terminal)
  for (const chunk of chunks) answerView.show(chunk)
  answerView.end()
  return { out: out(), err: err() }
}

const story = [
  chunk('reasoning', 'Hm'),
  chunk('reasoning', 'm.'),
  chunk('answer', 'I will '),
  chunk('answer', 'look.'),
  chunk('tool:sales'),
  chunk('tool:sales', '', {}),
  chunk('answer', 'It is '),
  chunk('retrying'),
  chunk('answer', 'It was **1**'),
  chunk('answer', '.'),
  chunk('answer'),
]

test('a pipe gets only the answer; steps go to standard error', () => {
  const { out, err } = view(story, {})
  assert.equal(out, 'It was **1**.\n')
  assert.equal(err, '✓ sales {"sql":"select 1"} 0.03 s\n')
})

test('a terminal shows everything in order, and the result of a step replaces its start', () => {
  const { out } = view(story, { isTTY: true, environment: { NO_COLOR: '1' } })
  const retryLine = '↻ the model is called again; the answer starts over\n'
  const steps = '· sales\r\u001B[K✓ sales {"sql":"select 1"} 0.03 s\n'
  assert.equal(out, `Hmm.\nI will look.\n${steps}It is \n${retryLine}It was **1**.\n`)
})

test('on a terminal with colours reasoning is dim and the answer is styled', () => {
  const { out } = view([chunk('reasoning', 'Hm'), chunk('answer', 'a **b'), chunk('answer', '** `c')], { isTTY: true })
  assert.equal(out, '\u001B[2mHm\u001B[22m\na \u001B[1mb\u001B[22m `c\n')
})

test('a plan is shown on separate lines; with a pipe its steps go to standard error', () => {
  const step = { type: 'planning', tool: 'plan', tool_input: {}, log: '1. A\n2. B' } as const
  const plan = [chunk('reasoning', 'Hm.'), chunk('planning'), chunk('planning', '1. A\n2. B\n'), chunk('planning', '', step)]
  const chunks = [...plan, chunk('planning', 'A is 1'), chunk('reasoning', 'So'), chunk('answer', '1')]
  const { out } = view(chunks, { isTTY: true, environment: { NO_COLOR: '1' } })
  assert.equal(out, 'Hm.\n1. A\n2. B\nA is 1\nSo\n1\n')
  assert.equal(view(chunks, {}).err, '✓ plan 1. A 2. B 0.03 s\n')
})

test('parallel steps have separate lines', () => {
  const chunks = [chunk('tool:a'), chunk('tool:b'), chunk('tool:b', '', { tool: 'b' }), chunk('tool:a', '', { tool: 'a' })]
  const { out } = view(chunks, { isTTY: true, environment: { NO_COLOR: '1' } })
  assert.equal(out.replaceAll('\r\u001B[K', '<'), '· a\n· b<✓ b {"sql":"select 1"} 0.03 s\n✓ a {"sql":"select 1"} 0.03 s\n')
})

test('a failed step shows the reason; long input is cut; control characters are removed', () => {
  const failed = chunk('tool:sales', '', {
    status: 'error',
    output: { error: 'no such\ntable\u001B[2J' },
    tool_input: { sql: 'x'.repeat(500) },
  })
  const { err } = view([failed], {})
  assert.match(err, /^✗ sales \{"sql":"x+… no such table\[2J\n$/)
  assert.ok(err.length <= 202, String(err.length))
})
