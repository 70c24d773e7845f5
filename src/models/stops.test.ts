import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelReply, ModelSink } from '../agent/model.ts'
import { withStops } from './stops.ts'

const usage = { model: 'm', input: 1, output: 9, cachedInput: 0, reasoning: 0 }
const call = { name: 'look', arguments: '{}' }

async function replyIn(pieces: string[], sink: ModelSink): Promise<ModelReply> {
  for (const text of pieces) await sink(text === '*' ? { type: 'reasoning', text } : { type: 'text', text })
  const text = pieces.filter((piece) => piece !== '*').join('')
  const vendor = { provider: 'p', model: 'm', data: 1 }
  return { text, reasoning: '', toolCalls: [call], finish: 'length', usage, vendor }
}

async function read(pieces: string[], stops: string[]) {
  const events: string[] = []
  const sink: ModelSink = async (event) => void events.push('text' in event ? event.text : event.type)
  const reply = await withStops(stops, sink, (filter) => replyIn(pieces, filter))
  return { events, reply }
}

test('A text ends before the first stop, wherever the pieces are cut, and the usage is that of the whole reply', async () => {
  const text = 'one two END three\n\nfour'
  for (let length = 1; length <= text.length; length++) {
    const pieces = Array.from({ length: Math.ceil(text.length / length) }, (_, n) => text.slice(n * length, (n + 1) * length))
    const { events, reply } = await read(pieces, ['\n\n', 'END'])
    assert.deepEqual([events.join(''), reply], ['one two ', { text: 'one two ', reasoning: '', toolCalls: [], finish: 'stop', usage }])
  }
})

test('A text without a stop passes whole, in order, also where its end begins a stop', async () => {
  const { events, reply } = await read(['a\n', 'b\n', '*', '\n', 'EN'], ['\n\n', 'END'])
  assert.deepEqual(events, ['a', '\nb', '\n', '*', '\n', 'EN'])
  assert.deepEqual([reply.text, reply.finish, reply.toolCalls], ['a\nb\n\nEN', 'length', [call]])
})
