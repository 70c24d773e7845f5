import assert from 'node:assert/strict'
import { test } from 'node:test'
import { align } from './align.ts'
import type { TraceEntry } from './experiment-queries.ts'

const reply = (text: string): TraceEntry => ({ n: 1, kind: 'reply', parent: null, text })
const call = (tool: string, input: unknown, output: unknown = 'ok'): TraceEntry => ({
  n: 1,
  kind: 'call',
  parent: null,
  tool,
  tool_input: input,
  output,
  status: 'success',
})

test('the first divergence is the first other call, whatever the words before say', () => {
  const baseline = [reply('I look.'), call('look', { a: 1, b: [{ c: 1, d: 2 }] }), reply('Done.')]
  const candidate = [reply('Let me look.'), call('look', { b: [{ d: 2, c: 1 }], a: 1 }), call('refund', { order: 9 }), reply('Done.')]
  const { rows, divergence } = align([baseline, candidate])
  assert.equal(divergence, 2)
  assert.deepEqual(
    rows.map(({ isDifferent }) => isDifferent),
    [true, false, true, true],
  )
  assert.deepEqual(rows[3]!.entries, [undefined, candidate[3]])
})

test('a trace that ends earlier, another input and another order of a list are divergences', () => {
  const one = call('look', { ids: [1, 2] })
  assert.equal(align([[one], []]).divergence, 0)
  assert.equal(align([[one, one], [one]]).divergence, 1)
  assert.equal(align([[one], [call('look', { ids: [2, 1] })]]).divergence, 0)
  assert.equal(align([[one], [one], [one, one]]).divergence, 1)
})

test('traces with the same calls diverge at the first other words or output, and equal traces nowhere', () => {
  const calls = [call('look', {}), reply('Yes.')]
  assert.equal(align([calls, [call('look', {}), reply('No.')]]).divergence, 1)
  assert.equal(align([calls, [call('look', {}, 'other'), reply('Yes.')]]).divergence, 0)
  assert.equal(align([calls, structuredClone(calls)]).divergence, undefined)
  assert.deepEqual(align([]), { rows: [], divergence: undefined })
})
