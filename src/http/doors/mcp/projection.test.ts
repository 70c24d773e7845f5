import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventLog } from '../../../runs/log/event-log.ts'
import type { LoggedEvent } from '../../../runs/run.ts'
import { approval, end, failed, file, interrupt, recorded, text, unlinked, waiting } from '../events-fixture.ts'
import { toAskResult, toProgress } from './projection.ts'

const ids = { session_id: 's', request_id: 'r' }

function resultOf(events: readonly LoggedEvent[], contents: Partial<Parameters<typeof toAskResult>[1]> = {}) {
  const run = { requestId: 'r', sessionId: 's', input: 'Hi', log: new EventLog({ events: [...events] }) }
  return toAskResult(run, { files: [], pictures: [], ...contents })
}

/** The result for an answer of text alone. */
const said = (output: string) => ({ content: [{ type: 'text', text: output }], structuredContent: { output, ...ids } })

test('the answer is the text behind the last other event', () => {
  assert.deepEqual(resultOf(recorded.text), said('Hello.'))
  assert.deepEqual(resultOf(recorded.reasoning), said('Yes.'))
  assert.deepEqual(resultOf(recorded.retry), said('Hello.'))
  assert.deepEqual(resultOf(recorded['tools in parallel']), said('Two.'))
})

test('steps are progress, in the order of the events; texts are not', () => {
  assert.deepEqual(toProgress(recorded['tools in parallel']), [
    'look has started.',
    'count has started.',
    'count has ended: success.',
    'look has ended: success.',
  ])
  assert.deepEqual(toProgress(recorded.failure), [])
})

test('a run that waits has the answer so far, and the calls as text and as data', () => {
  const { content, structuredContent } = resultOf(recorded.approval)
  const calls = [{ tool_call_id: 'c1', tool: 'send', tool_input: { to: 'Bob' } }]
  assert.deepEqual(structuredContent, { output: 'I ask.', ...ids, approval_required: { request_id: 'r', calls } })
  const [first] = content as { text: string }[]
  const lines = first!.text.split('\n')
  assert.deepEqual([lines[0], lines[1], lines[3]], ['I ask.', '', JSON.stringify(calls[0])])
  assert.match(lines.at(-1)!, /GET \/core\/v1\/runs\/r\.$/)
})

test('calls of the client are data of their own', () => {
  const { structuredContent } = resultOf([interrupt(approval, waiting('p', 'client'))])
  assert.deepEqual(Object.keys(structuredContent!), ['output', 'session_id', 'request_id', 'approval_required', 'client_tool_calls'])
})

test('a failure, before the first event or behind a text, and a cancelled run are errors that the model reads', () => {
  const { error } = failed
  const failure = { isError: true, content: [{ type: 'text', text: `${error!.details!.error_type}: The model is gone.` }] }
  assert.deepEqual(resultOf([failed]), failure)
  assert.deepEqual(resultOf(recorded.failure), failure)
  assert.equal(resultOf(recorded.cancel).isError, true)
})

test('files are links behind the text and the pictures; a file without a link is data alone', () => {
  const pixels = { type: 'image' as const, mimeType: 'image/png', data: 'AAAA' }
  const { content, structuredContent } = resultOf([text('Here.'), end()], { files: [file, unlinked], pictures: [pixels] })
  const link = { type: 'resource_link', uri: 'http://s/f1', name: 'a.csv', mimeType: 'text/csv', size: undefined }
  assert.deepEqual(content, [{ type: 'text', text: 'Here.' }, pixels, link])
  assert.deepEqual(structuredContent, { output: 'Here.', ...ids, generated_artifacts: [file, unlinked] })
})

test('an answer with a schema has its value as data', () => {
  const { structuredContent } = resultOf([text('{"a":1}'), end({ structured: true })])
  assert.deepEqual(structuredContent, { output: '{"a":1}', structured_output: { a: 1 }, ...ids })
})
