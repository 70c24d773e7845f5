import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonSchema } from '../src/agent/messages.ts'
import type { ToolOffer } from '../src/agent/model.ts'
import { intents } from './intents.ts'
import { readOrder } from './orders.ts'
import { toPart } from './part.ts'
import { toSections } from './question.ts'

const text = { type: 'string' }

function tool(name: string, description: string, properties: Record<string, JsonSchema>, required = Object.keys(properties)): ToolOffer {
  return { name, description, effect: 'read', schema: { type: 'object', properties, required } }
}

const cancel: ToolOffer = {
  ...tool('cancel_order', 'Cancels an order.', { order_id: { ...text, pattern: '^O-[0-9]{4}$' } }),
  effect: 'write',
}
const note: ToolOffer = { ...tool('save_note', 'Saves a note.', { text }), effect: 'write' }
const tools: ToolOffer[] = [
  tool('calculator', 'Calculates.', { expression: text }),
  tool('current_time', 'Tells the date and time.', { timezone: text }, []),
  tool('list_files', 'Lists files.', { path: text }, []),
  tool('read_file', 'Reads a file.', { path: text, offset: { type: 'integer' } }, ['path']),
  { ...tool('write_file', 'Makes a file.', { file_name: text, content: text }), effect: 'write' },
  tool('handbook', 'Searches the handbook. Headings: Annual leave, Expenses.', { query: text }),
  tool('sales', 'Runs SQL.\n- sales: date DATE, region VARCHAR (East, West), amount DOUBLE\n- customers: name VARCHAR, city VARCHAR', {
    sql: text,
  }),
  tool('weather', 'The weather of a city.', { city: text }),
  tool('orders__getOrder', 'Gets an order.', { order_id: { type: 'integer' } }),
  cancel,
  note,
]

test('each example of an intent is read by this intent first', async (t) => {
  const asked = {
    question: 'Can you cancel order O-1002?',
    answer: 'Shall I run `cancel_order` with order_id “O-1002”? Please answer yes or no.',
  }
  for (const intent of intents)
    for (const example of intent.examples)
      await t.test(`${intent.name}: ${example}`, () => {
        const turns = intent.name === 'consent' ? [asked] : [{ question: 'My name is Ada.', answer: 'Noted.' }]
        const part = toPart({
          text: example,
          isFollowUp: false,
          earlier: [],
          turns,
          tools,
          memories: ["The user's name is Ada."],
          summary: '',
          texts: intent.name === 'texts' ? toSections('# Notes\n\nThe sea is deep.') : [],
          outlined: [],
        })
        const readings = intents.flatMap((each) => [each.read(part) ?? []].flat().map(({ score }) => ({ name: each.name, score })))
        assert.equal(readings.toSorted((a, b) => b.score - a.score)[0]?.name, intent.name)
      })
})

const sentences: [sentence: string, isNegated: boolean | undefined][] = [
  ['Cancel order O-1002', false],
  ['pls cancel order O-1002', false],
  ['Can you cancel order O-1002?', false],
  ['I want to cancel order O-1002', false],
  ['Order O-1002 should be cancelled', false],
  ['Cancel order O-1002 unless it was shipped', false],
  ['pls dont cancel order O-1002', true],
  ['Do not cancel order O-1002', true],
  ['Never cancel order O-1002', true],
  ['Has order O-1002 been cancelled?', undefined],
  ['Who cancelled order O-1002?', undefined],
  ['How do I cancel an order?', undefined],
  ['What happens if I cancel order O-1002?', undefined],
  ['My colleague said: cancel order O-1002', undefined],
]

test('an imperative, a request or a wish is an order, and a question or a quote is none', () => {
  for (const [sentence, isNegated] of sentences) assert.equal(readOrder(sentence, [cancel])?.isNegated, isNegated, sentence)
})

test('a value may stand beside the name of its parameter, or behind "because"', () => {
  const properties = { order_id: { ...text, pattern: '^O-[0-9]{4}$' }, reason: text }
  const accept: ToolOffer = { ...tool('return_order', 'Takes an order back.', properties), effect: 'write' }
  for (const [sentence, reason] of [
    ['Return order O-1002, reason: broken', 'broken'],
    ['Return order O-1002 with the reason "too small"', 'too small'],
    ['Return order O-1002 because it arrived broken.', 'it arrived broken'],
  ]) {
    const order = readOrder(sentence!, [accept])
    assert.deepEqual([order?.input, order?.unused], [{ order_id: 'O-1002', reason }, []], sentence)
  }
})
