import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnswerBody } from '../../../../runs/log/outcome.ts'
import { wholeRun, type RunPart } from '../../../../runs/parts.ts'
import type { LoggedEvent } from '../../../../runs/run.ts'
import { approval, clientCall, end, file, interrupt, project, recorded, stepEnd, stepStart, text } from '../../events-fixture.ts'
import { completionChunksOf, streamCompletion, toCompletion, type CompletionChunk } from './projection.ts'

interface Annotation {
  url_citation: Record<string, number>
}

const begin: CompletionChunk = { delta: { role: 'assistant', content: '' } }
const options = { withUsage: false, hasSchema: false }
const headOf = (part: RunPart = wholeRun) => ({ requestId: 'r', part, created: 1, model: 'm', metadata: undefined })

/** The chunks of a recorded run behind its beginning. */
function chunks(name: keyof typeof recorded, more: Partial<typeof options> = {}): unknown[] {
  const [first, ...rest] = project(completionChunksOf(headOf(), { ...options, ...more }), recorded[name], name === 'files' ? [file] : [])
  assert.deepEqual(first, begin)
  return rest
}

const contents = (...pieces: string[]) => pieces.map((content) => ({ content }))
const stop = [{ finish: 'stop', more: {} }, 'done']

test('text and thoughts are deltas, and the usage is the last chunk', () => {
  assert.deepEqual(chunks('text'), [...contents('Hel', 'lo.'), ...stop])
  assert.deepEqual(chunks('reasoning'), [{ delta: { reasoning_content: 'Hm.' } }, ...contents('Yes.'), ...stop])
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 4,
    total_tokens: 14,
    prompt_tokens_details: { cached_tokens: 1 },
    completion_tokens_details: { reasoning_tokens: 2 },
  }
  assert.deepEqual(chunks('text', { withUsage: true }).slice(-2), [{ usage }, 'done'])
})

test('steps are left out; a blank line separates the segments of the answer', () => {
  assert.deepEqual(chunks('tools in parallel'), [...contents('Let me see.', '\n\nTwo.'), ...stop])
  assert.deepEqual(chunks('retry'), [...contents('Hel', '\n\nHello.'), ...stop])
})

test('a call that waits for approval is a text, and a field of the last chunk', () => {
  const [asked, waits, finish] = chunks('approval') as [unknown, { content: string }, { finish: string; more: object }]
  assert.deepEqual(asked, contents('I ask.')[0])
  assert.match(waits.content, /^\n\nA call of send waits for the approval of a person/)
  assert.deepEqual([finish.finish, Object.keys(finish.more)], ['stop', ['approval_required']])
})

test('calls of client tools end the stream, each in two deltas', () => {
  const [, first, second, finish] = chunks('client tools') as [unknown, unknown, unknown, { finish: string }]
  assert.deepEqual(first, {
    delta: { tool_calls: [{ index: 0, id: 'call_c2', type: 'function', function: { name: 'get_place', arguments: '' } }] },
  })
  assert.deepEqual(second, { delta: { tool_calls: [{ index: 0, function: { arguments: '{}' } }] } })
  assert.equal(finish.finish, 'tool_calls')
})

test('a failed or cancelled run ends with an error', () => {
  for (const name of ['failure', 'cancel'] as const) {
    const [last] = chunks(name).slice(-1) as [{ failure: { error: { message: string } } }]
    assert.match(last.failure.error.message, /The model is gone|The run was cancelled/)
  }
})

test('files are links behind the answer, and web pages are annotations', () => {
  const [, links, finish] = chunks('files') as [unknown, { delta: { content: string; annotations: unknown[] } }, { more: object }]
  assert.equal(links.delta.content, '\n\n- [a.csv](http://s/f1)')
  assert.deepEqual([links.delta.annotations.length, finish.more], [1, { generated_artifacts: [file] }])
  const [, cited] = chunks('sources') as [unknown, { delta: object }]
  const url_citation = { start_index: 0, end_index: 4, title: 'Rules', url: 'https://a.example/rules' }
  assert.deepEqual(cited.delta, { content: '', annotations: [{ type: 'url_citation', url_citation }] })
})

test('an annotation counts in the whole content, with the text in front of the answer', () => {
  const web = { ...recorded.sources[1].citations![0]!, answerStart: 2, answerEnd: 6 }
  const events = [text('Let me see.'), stepStart('s', 'look'), stepEnd('s', 'look'), text('A: 25 days.'), end({ citations: [web] })]
  const deltas = project(completionChunksOf(headOf(), options), events).flatMap(
    (chunk): { content: string; annotations?: Annotation[] }[] =>
      chunk === 'done' ? [] : 'content' in chunk ? [chunk] : 'delta' in chunk ? [chunk.delta as { content: string }] : [],
  )
  const content = deltas.map((delta) => delta.content).join('')
  const citation = deltas.at(-1)!.annotations![0]!.url_citation
  assert.deepEqual([content, content.slice(citation['start_index'], citation['end_index'])], ['Let me see.\n\nA: 25 days.', ' 25 '])
})

test('an answer with a schema is sent in one piece at its end', () => {
  const events = [text('{"a"'), text(':1}'), end({ structured: true })]
  const projection = completionChunksOf(headOf(), { ...options, hasSchema: true })
  assert.deepEqual(project(projection, events), [begin, ...contents('{"a":1}'), ...stop])
})

test('the part behind the outputs of a client has its own id and tokens, and shows the calls that still wait', () => {
  const before: LoggedEvent[] = [text('Where?'), interrupt(clientCall, approval)]
  const head = headOf({ before, open: [approval] })
  const [, , finish] = project(completionChunksOf(head, { ...options, withUsage: true }), before.slice(1), [], 2) as unknown[]
  assert.deepEqual(finish, {
    finish: 'stop',
    more: { approval_required: { request_id: 'r', calls: [{ tool_call_id: 'c1', tool: 'send', tool_input: { to: 'Bob' } }] } },
  })
  const stream = streamCompletion(headOf({ before, open: [] }), options)
  assert.match(stream.take(text('Rome.'), 3), /^data: \{"id":"chatcmpl-r-1","object":"chat.completion.chunk","created":1,"model":"m",/)
  const log = { events: [...before, text('Rome.'), end()] } as never
  const body = { output: 'Rome.', generated_artifacts: [] as AnswerBody['generated_artifacts'] } as AnswerBody
  const completion = toCompletion(headOf({ before, open: [] }), body, { log, hasSchema: false }) as { usage: Record<string, unknown> }
  assert.deepEqual([completion.usage['prompt_tokens'], completion.usage['completion_tokens']], [4, 2])
})
