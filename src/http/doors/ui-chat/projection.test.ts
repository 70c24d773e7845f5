import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LoggedEvent } from '../../../runs/run.ts'
import type { Citation } from '../../../sessions/message.ts'
import { toStream } from '../../send-run.ts'
import {
  end,
  failed,
  file,
  interrupt,
  picture,
  project,
  recorded,
  stepEnd,
  stepStart,
  text,
  unlinked,
  userMessage,
  waiting,
} from '../events-fixture.ts'
import { frameUiPart, UiMessageProjection, type UiPart } from './projection.ts'

const run = { requestId: 'r', hasSchema: false }
const finish = (finishReason: string, finish_reason: string) => {
  return { type: 'finish', finishReason, messageMetadata: { request_id: 'r', finish_reason } }
}
const finished = [{ type: 'finish-step' }, finish('stop', 'stop'), 'done']

/** The parts behind `start`. */
function partsOf(events: readonly LoggedEvent[], projection = new UiMessageProjection(run)): UiPart[] {
  const [first, ...rest] = project(projection, events)
  assert.deepEqual(first, { type: 'start', messageId: 'msg_r' })
  return rest
}

const typesOf = (parts: readonly UiPart[]) => parts.map((part) => (part === 'done' ? part : part.type))

test('an answer is one text in one step', () => {
  assert.deepEqual(partsOf(recorded.text), [
    { type: 'start-step' },
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: 'Hel' },
    { type: 'text-delta', id: '0', delta: 'lo.' },
    { type: 'text-end', id: '0' },
    ...finished,
  ])
})

test('a thought and the answer behind belong to one step', () => {
  assert.deepEqual(typesOf(partsOf(recorded.reasoning)), [
    ...['start-step', 'reasoning-start', 'reasoning-delta', 'reasoning-end'],
    ...['text-start', 'text-delta', 'text-end', 'finish-step', 'finish', 'done'],
  ])
})

test('calls that run at a time belong to the step of their text; the answer behind is a step of its own', () => {
  const traits = { providerExecuted: true, dynamic: true }
  const inputOf = (toolCallId: string, toolName: string) => {
    return { type: 'tool-input-available', toolCallId, toolName, input: { q: toolCallId }, title: undefined, ...traits }
  }
  const [before, first, second] = recorded['tools in parallel']
  const dark = stepEnd('s1', 'look', { status: 'error', output: { error: 'dark' } })
  const parts = partsOf([before, first, second, stepEnd('s2', 'count'), dark, text('Two.'), end()])
  assert.deepEqual(parts.slice(4, 8), [
    inputOf('s1', 'look'),
    inputOf('s2', 'count'),
    { type: 'tool-output-available', toolCallId: 's2', output: 'count done', ...traits },
    { type: 'tool-output-error', toolCallId: 's1', errorText: 'dark', ...traits },
  ])
  assert.deepEqual(typesOf(parts).slice(8, 11), ['finish-step', 'start-step', 'text-start'])
})

test('an answer that begins anew is another text', () => {
  const ids = partsOf(recorded.retry).flatMap((part) => (typeof part === 'object' && 'id' in part ? [part.id] : []))
  assert.deepEqual([...new Set(ids)], ['0', '1'])
})

test('a call that waits for the user is a request for approval, and goes on with the same call', () => {
  const parts = partsOf(recorded.approval)
  assert.deepEqual(parts.slice(4), [
    { type: 'tool-input-available', toolCallId: 'c1', toolName: 'send', input: { to: 'Bob' }, title: undefined, dynamic: true },
    { type: 'tool-approval-request', approvalId: 'c1', toolCallId: 'c1' },
    { type: 'finish-step' },
    finish('tool-calls', 'approval_required'),
    'done',
  ])
  const part = { before: recorded.approval, open: [] }
  assert.deepEqual(typesOf(partsOf(recorded['the rest of an approval'], new UiMessageProjection(run, { part }))), [
    ...['tool-output-available', 'start-step', 'text-start', 'text-delta', 'text-end', 'finish-step', 'finish', 'done'],
  ])
  const [denied] = partsOf(recorded['the rest of an approval'], new UiMessageProjection(run, { part, rejected: new Set(['c1']) }))
  assert.deepEqual(denied, { type: 'tool-output-denied', toolCallId: 'c1' })
})

test('a call that another person decides has no request', () => {
  assert.deepEqual(typesOf(partsOf([interrupt(waiting('c1', 'role'))])), [
    ...['start-step', 'tool-input-available', 'finish-step', 'finish', 'done'],
  ])
})

test('a call of the page has no traits, and no output, which the page has', () => {
  const event = interrupt(waiting('p', 'client'), waiting('q', 'client'))
  const [, input] = partsOf([event])
  assert.deepEqual(input, { type: 'tool-input-available', toolCallId: 'p', toolName: 'send', input: { to: 'Bob' }, title: undefined })
  const open = [waiting('q', 'client')]
  assert.deepEqual(partsOf([event], new UiMessageProjection(run, { part: { before: [event], open } })), [
    finish('tool-calls', 'tool_calls'),
    'done',
  ])
  const behind = [stepStart('p', 'send'), stepEnd('p', 'send'), text('Here.'), end()]
  const parts = partsOf(behind, new UiMessageProjection(run, { part: { before: [event], open: [] } }))
  assert.deepEqual(typesOf(parts).slice(0, 2), ['start-step', 'text-start'])
})

test('a failure ends the stream, before its first event and behind a text; a cancelled run is aborted', () => {
  const error = { type: 'error', errorText: 'The model is gone.' }
  assert.deepEqual(partsOf([failed]), [error, 'done'])
  assert.deepEqual(partsOf(recorded.failure).slice(-3), [{ type: 'text-end', id: '0' }, error, 'done'])
  assert.deepEqual(typesOf(partsOf(recorded.cancel)).slice(-3), ['text-end', 'abort', 'done'])
})

test('files are parts: a picture as a file, others as links, none without a link', () => {
  const parts = project(new UiMessageProjection(run), [text('Here.'), end()], [picture, file, unlinked])
  assert.deepEqual(parts.slice(5, 7), [
    { type: 'file', url: 'http://s/f2', mediaType: 'image/png' },
    { type: 'source-url', sourceId: 'f1', url: 'http://s/f1', title: 'a.csv' },
  ])
  assert.deepEqual(parts.slice(7), finished)
})

test('a quoted place of a document is one source for all parts of the answer; a web page has an address', () => {
  const place = { tool: 'look', file: 'a.md', heading: 'Rules', start: 0, end: 4, text: '25 d', answerStart: 2, answerEnd: 6 } as Citation
  const web = { ...place, url: 'https://w', title: 'W' }
  const citations = [place, { ...place, answerStart: 8, answerEnd: 9 }, web]
  const [document, page, ...rest] = partsOf([text('A'), end({ citations })]).slice(4)
  const quoted = { heading: 'Rules', page: undefined, text: '25 d', start: 0, end: 4, document_id: undefined }
  const answer = [
    { start: 2, end: 6 },
    { start: 8, end: 9 },
  ]
  assert.deepEqual(document, {
    type: 'source-document',
    sourceId: 'a.md#0-4',
    mediaType: 'text/markdown',
    title: 'a.md, Rules',
    filename: 'a.md',
    providerMetadata: { 'agent-core': { ...quoted, answer } },
  })
  assert.deepEqual(page, {
    type: 'source-url',
    sourceId: 'https://w',
    url: 'https://w',
    title: 'W',
    providerMetadata: { 'agent-core': { tool: 'look', text: '25 d', answer: answer.slice(0, 1) } },
  })
  assert.deepEqual(rest, finished)
})

test('a plan is a part that replaces itself', () => {
  const planned = stepEnd('p', 'plan', { type: 'planning', output: ['Look'] })
  const plans = partsOf([planned, text('Done.'), end()]).filter((part) => part !== 'done' && part.type === 'data-plan')
  const planOf = (status: string) => ({ type: 'data-plan', id: 'plan', data: { steps: [{ step: 'Look', status }] } })
  assert.deepEqual(plans, [planOf('pending'), planOf('done')])
})

test('an answer with a schema is sent when it fits', () => {
  const events = [text('{"a":'), { type: 'retrying' as const }, text('{"a":1}'), end({ structured: true })]
  const deltas = partsOf(events, new UiMessageProjection({ ...run, hasSchema: true })).filter((part) => 'delta' in Object(part))
  assert.deepEqual(deltas, [{ type: 'text-delta', id: '0', delta: '{"a":1}' }])
})

test('each part is the data of one server-sent event, and a word ends the stream', () => {
  const stream = toStream(new UiMessageProjection(run), frameUiPart)
  const parts = [{ type: 'start', messageId: 'msg_r' }, finish('stop', 'stop')]
  assert.equal(stream.last(end(), 1, []), `${parts.map((part) => `data: ${JSON.stringify(part)}\n\n`).join('')}data: [DONE]\n\n`)
})

test('a message of a person is a part of its own between two texts', () => {
  const parts = partsOf([text('Long.'), userMessage, text('Short.'), end()])
  assert.deepEqual(parts[4], { type: 'data-user-message', id: 'm1', data: { text: 'Shorter.' } })
  assert.deepEqual(typesOf(parts).slice(5, 7), ['text-start', 'text-delta'])
})
