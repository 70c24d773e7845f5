import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TraceEntry } from '../experiments.ts'
import { boundResult, type ResultContent } from './content.ts'

const maxBytes = 256 * 1024
/** Six bytes as JSON. */
const costly = '\u0001'

function contentOf(text: string, writes: number): ResultContent {
  const calls = Array.from({ length: writes }, () => ({ tool: 'refund', tool_input: { note: text } }))
  return {
    exampleName: 'one',
    datasetId: 'd',
    question: text,
    recorded: { output: text, requestId: 'r' },
    result: {
      output: text,
      divergence: { reason: 'no_recording', call: { tool: 'look', tool_input: text, parent: null } },
      proposedWrites: calls.map(({ tool, tool_input: toolInput }) => ({ tool, toolInput, recorded: false })),
      effects: { same: 1, added: calls, removed: calls, changed: calls.map(({ tool }) => ({ tool, before: text, after: text })) },
      scores: [{ name: 'judge', kind: 'judge', score: 0, passed: false, required: true, reason: text }],
      requestId: 'replay',
      error: text,
      isEqual: undefined,
    },
  }
}

const traceOf = (length: number, text: string) =>
  Array.from({ length }, (_, index): TraceEntry => ({
    n: index + 1,
    kind: 'call',
    parent: null,
    tool: 'look',
    output: text,
    toolInput: { text },
  }))

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

test('a short result stays as it is', () => {
  const content = contentOf('short', 2)
  const bounded = boundResult(content, traceOf(3, 'short'))
  assert.deepEqual(bounded, { content, trace: traceOf(3, 'short') })
})

test('values are cut at 4000 characters, and a trace has 500 entries at most', () => {
  const { content, trace } = boundResult(contentOf('x'.repeat(5000), 1), traceOf(2, 'x'.repeat(5000)))
  const { output, effects } = content['result'] as any
  assert.deepEqual([output.length, effects.added[0].tool_input.length], [5000, 4000])
  assert.deepEqual(
    trace.map((entry: any) => [entry.output.length, entry.toolInput.length]),
    [
      [4000, 4000],
      [4000, 4000],
    ],
  )
  assert.equal(boundResult(contentOf('', 0), traceOf(600, '')).trace.length, 500)
})

test('the trace is cut first; no result has more than 256 KiB', () => {
  const long = 'x'.repeat(4000)
  const cut = boundResult(contentOf(long, 5), traceOf(500, long))
  assert.ok(cut.trace.length > 5 && cut.trace.length < 500)
  assert.equal((cut.content['result'] as any).proposedWrites.length, 5)
  const worst = boundResult(contentOf(costly.repeat(100_000), 1000), traceOf(1000, costly.repeat(100_000)))
  for (const { content, trace } of [cut, worst]) assert.ok(bytesOf(content) + bytesOf(trace) <= maxBytes, `${bytesOf(content)}`)
})
