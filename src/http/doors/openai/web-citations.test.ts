import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EndEvent, LoggedEvent } from '../../../runs/run.ts'
import type { Citation } from '../../../sessions/message.ts'
import { wholeRun } from '../../../runs/parts.ts'
import { toCompletion } from './completions/projection.ts'
import { toAnnotation } from './responses/items.ts'

const url = 'https://a.example/rules'
const web: Citation = {
  tool: 'web_search',
  file: 'Rules',
  url,
  title: 'Rules',
  heading: '',
  start: 0,
  end: 4,
  text: '25 d',
  answerStart: 2,
  answerEnd: 6,
}
const step = { id: 'c1', type: 'tool_call' as const, tool: 'look', input: {}, startedAt: 1 }
const end: EndEvent = { type: 'end', reason: 'stop', usage: [], thoughts: [], citations: [web] }
const events: LoggedEvent[] = [
  { type: 'text', label: 'answer', text: 'Let me see.' },
  { type: 'step_start', step },
  { type: 'step_end', step: { ...step, log: '', output: 1, status: 'success', durationMs: 1 } },
  { type: 'text', label: 'answer', text: 'A: 25 days.' },
  end,
]
const head = { requestId: 'r', part: wholeRun, created: 1, model: 'm', metadata: undefined }
const citation = { start_index: 2, end_index: 6, title: 'Rules', url }

test('a chat completion has its web pages as annotations', () => {
  const body = { input: '', output: 'A: 25 days.', intermediate_steps: [], usage: [], generated_artifacts: [] }
  const completion = toCompletion(head, body, { log: { events } as never, hasSchema: false }) as {
    choices: [{ message: { annotations: unknown } }]
  }
  assert.deepEqual(completion.choices[0].message.annotations, [{ type: 'url_citation', url_citation: citation }])
})

test('a web page is a link in a response', () => {
  assert.deepEqual(toAnnotation(web), { type: 'url_citation', ...citation })
})
