import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stepOpening } from '../../../agent/plan.ts'
import type { LoggedEvent } from '../../../runs/run.ts'
import { toData, toStream } from '../../send-run.ts'
import {
  approval,
  end,
  failed,
  interrupt,
  picture,
  project,
  recorded,
  stepEnd,
  stepStart,
  text,
  userMessage,
  waiting,
} from '../events-fixture.ts'
import { AgUiProjection } from './projection.ts'
import type { AgUiEvent } from './steps.ts'

const run = { threadId: 't', runId: 'r1', requestId: 'r', hasSchema: false }
const ids = { threadId: 't', runId: 'r1' }
const begun = { type: 'RUN_STARTED', ...ids, protocolVersion: '1.0', metadata: { request_id: 'r' } }
const tokens = { model: 'm', cachedInputTokens: 1, reasoningTokens: 2 }
const usage = [{ ...tokens, inputTokens: 10, outputTokens: 4, totalTokens: 14 }]
const usageSoFar = [{ ...tokens, inputTokens: 6, outputTokens: 2, totalTokens: 8 }]

/** The events behind `RUN_STARTED`. */
function eventsOf(events: readonly LoggedEvent[], projection = new AgUiProjection(run)): AgUiEvent[] {
  const [first, ...rest] = project(projection, events, [picture])
  assert.deepEqual(first, begun)
  return rest
}

const typesOf = (events: readonly AgUiEvent[]) => events.map(({ type }) => type)

test('an answer is one message, which ends before the run', () => {
  const messageId = 'msg_r_0'
  assert.deepEqual(eventsOf(recorded.text), [
    { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: 'Hel' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: 'lo.' },
    { type: 'TEXT_MESSAGE_END', messageId },
    {
      type: 'RUN_FINISHED',
      ...ids,
      result: { finish_reason: 'stop', generated_artifacts: [picture] },
      outcome: { type: 'success' },
      usage,
    },
  ])
})

test('a thought is a message of its own', () => {
  assert.deepEqual(typesOf(eventsOf(recorded.reasoning)), [
    ...['REASONING_START', 'REASONING_MESSAGE_START', 'REASONING_MESSAGE_CONTENT', 'REASONING_MESSAGE_END', 'REASONING_END'],
    ...['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'RUN_FINISHED'],
  ])
})

test('calls that run at a time have their results in the order of their ends', () => {
  const events = eventsOf(recorded['tools in parallel']).filter(({ type }) => type.startsWith('TOOL_CALL'))
  const startOf = (toolCallId: string, toolCallName: string) => [
    { type: 'TOOL_CALL_START', toolCallId, toolCallName },
    { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify({ q: toolCallId }) },
    { type: 'TOOL_CALL_END', toolCallId },
  ]
  const resultOf = (toolCallId: string, content: string) => {
    return { type: 'TOOL_CALL_RESULT', messageId: `result_${toolCallId}`, toolCallId, role: 'tool', content }
  }
  assert.deepEqual(events, [...startOf('s1', 'look'), ...startOf('s2', 'count'), resultOf('s2', 'count done'), resultOf('s1', 'look done')])
})

test('an answer that begins anew is another message', () => {
  const messageIds = eventsOf(recorded.retry).flatMap((event) => ('messageId' in event ? [event.messageId] : []))
  assert.deepEqual([...new Set(messageIds)], ['msg_r_0', 'msg_r_1'])
})

test('a call that waits for a person is an interrupt; a page that answers goes on with the same call', () => {
  const asked = eventsOf(recorded.approval)
  const finish = asked.at(-1) as AgUiEvent & { outcome: { interrupts: { id: string; toolCallId: string }[] } }
  assert.deepEqual(typesOf(asked).slice(-4), ['TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END', 'RUN_FINISHED'])
  assert.deepEqual(
    finish.outcome.interrupts.map(({ id, toolCallId }) => [id, toolCallId]),
    [['c1', 'c1']],
  )
  const resumed = eventsOf(recorded['the rest of an approval'], new AgUiProjection(run, { before: recorded.approval, open: [] }))
  assert.deepEqual(typesOf(resumed), [
    'TOOL_CALL_RESULT',
    ...['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'RUN_FINISHED'],
  ])
  // The usage is that of the part.
  assert.deepEqual((resumed.at(-1) as AgUiEvent & { usage: unknown }).usage, [
    { model: 'm', inputTokens: 4, outputTokens: 2, totalTokens: 6, cachedInputTokens: 0, reasoningTokens: 0 },
  ])
})

test('calls of the page complete the run; the page has their results itself', () => {
  const event = interrupt(waiting('p', 'client'), waiting('q', 'client'))
  const asked = eventsOf([event])
  assert.deepEqual(asked.at(-1), {
    type: 'RUN_FINISHED',
    ...ids,
    outcome: { type: 'success', pendingToolCallIds: ['p', 'q'] },
    usage: usageSoFar,
  })
  const again = eventsOf([event], new AgUiProjection(run, { before: [event], open: [waiting('q', 'client')] }))
  assert.deepEqual((again.at(-1) as AgUiEvent & { outcome: unknown }).outcome, { type: 'success', pendingToolCallIds: ['q'] })
  const behind = [stepStart('p', 'send'), stepEnd('p', 'send'), end()]
  assert.deepEqual(typesOf(eventsOf(behind, new AgUiProjection(run, { before: [event], open: [] }))), ['RUN_FINISHED'])
})

test('a failure is an error of the run, before its first event and behind a text', () => {
  const error = { type: 'RUN_ERROR', message: 'The model is gone.', code: failed.error!.details!.error_type, usage: [] }
  assert.deepEqual(eventsOf([failed]), [error])
  const events = eventsOf(recorded.failure)
  assert.deepEqual(typesOf(events), ['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'RUN_ERROR'])
  assert.deepEqual(events.at(-1), error)
})

test('a cancelled run finishes as cancelled', () => {
  assert.deepEqual(eventsOf(recorded.cancel).at(-1), { type: 'RUN_FINISHED', ...ids, outcome: { type: 'cancelled' }, usage })
})

test('an answer with a schema is sent when it fits, with its value', () => {
  const held = new AgUiProjection({ ...run, hasSchema: true })
  const events = eventsOf([text('{"a":'), text('1}'), end({ structured: true })], held)
  assert.deepEqual(events[1], { type: 'TEXT_MESSAGE_CONTENT', messageId: 'msg_r_0', delta: '{"a":1}' })
  const { result } = events.at(-1) as AgUiEvent & { result: { structured_output: unknown } }
  assert.deepEqual(result.structured_output, { a: 1 })
})

test('a sub-agent is an invocation, to which its own steps belong', () => {
  const task = { type: 'sub_agent_call' as const, tool: 'sub_agent:Scout' }
  const taskStart: LoggedEvent = { type: 'step_start', step: { ...task, id: 's', input: {}, startedAt: 1 } }
  const events = eventsOf([taskStart, stepEnd('x', 'look', { subAgent: 'Scout' }), interrupt(approval)])
  assert.ok(events.some((event) => event.type === 'SUBAGENT_STARTED'))
  const result = events.find(({ type }) => type === 'TOOL_CALL_RESULT') as AgUiEvent & { subagentRunId: string }
  assert.equal(result.subagentRunId, 's')
  assert.deepEqual(events.at(-2), { type: 'SUBAGENT_FINISHED', subagentRunId: 's', outcome: { type: 'suspended' } })
})

test('a plan is in the state of the page, as it was at each event', () => {
  const planned = stepEnd('p', 'plan', { type: 'planning', output: ['Look', 'Tell'] })
  const opened = text(stepOpening(1, 2, 'Look'), 'planning')
  const events = eventsOf([planned, opened, text('Done.'), end()], new AgUiProjection({ ...run, state: { page: 1 } }))
  const states = events.filter(({ type }) => type.startsWith('STATE'))
  const planOf = (...statuses: string[]) => statuses.map((status, at) => ({ step: ['Look', 'Tell'][at], status }))
  const changeOf = (...statuses: string[]) => ({
    type: 'STATE_DELTA',
    delta: [{ op: 'replace', path: '/plan', value: planOf(...statuses) }],
  })
  assert.deepEqual(states, [
    { type: 'STATE_SNAPSHOT', snapshot: { page: 1, plan: planOf('pending', 'pending') } },
    changeOf('running', 'pending'),
    changeOf('done', 'pending'),
  ])
  const steps = events.filter(({ type }) => type.startsWith('STEP'))
  assert.deepEqual(steps, [
    { type: 'STEP_STARTED', stepName: '1. Look' },
    { type: 'STEP_FINISHED', stepName: '1. Look' },
  ])
})

test('each event is the data of one server-sent event', () => {
  const stream = toStream(new AgUiProjection(run), toData)
  assert.equal(
    stream.take(text('a"b'), 1),
    [
      begun,
      { type: 'TEXT_MESSAGE_START', messageId: 'msg_r_0', role: 'assistant' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'msg_r_0', delta: 'a"b' },
    ]
      .map((event) => `data: ${JSON.stringify(event)}\n\n`)
      .join(''),
  )
})

test('a message of a person stands between two messages of the agent, with its own id', () => {
  const events = eventsOf([text('Long.'), userMessage, text('Short.'), end()])
  assert.deepEqual(events.slice(3, 6), [
    { type: 'TEXT_MESSAGE_START', messageId: 'm1', role: 'user' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1', delta: 'Shorter.' },
    { type: 'TEXT_MESSAGE_END', messageId: 'm1' },
  ])
  assert.deepEqual(events[6], { type: 'TEXT_MESSAGE_START', messageId: 'msg_r_1', role: 'assistant' })
})
