import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonSchema } from '../src/agent/messages.ts'
import type { ToolOffer } from '../src/agent/model.ts'
import type { Memory } from '../src/memory/memory.ts'
import { toRecalled } from '../src/memory/recall.ts'
import { intents, toSecondPerson } from './intents.ts'
import { readOrder } from './orders.ts'
import { toPart } from './part.ts'
import { toSections } from './question.ts'
import { respond } from './respond.ts'

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

test('memories about the user are told in the second person', () => {
  for (const [sentence, text] of [
    ["The user's name is Ada.", 'Your name is Ada.'],
    ['The user lives in Rome.', 'You live in Rome.'],
    ['The user studies law.', 'You study law.'],
    ['The user uses vim.', 'You use vim.'],
    ['The user watches birds.', 'You watch birds.'],
    ['The user is allergic to nuts.', 'You are allergic to nuts.'],
    ['The user does not like tea.', 'You do not like tea.'],
    ["The API for the user's project is v2.", 'The API for your project is v2.'],
    ['Der Nutzer heißt Ada.', 'Der Nutzer heißt Ada.'],
  ] as const)
    assert.equal(toSecondPerson(sentence), text)
})

function answer(question: string, memories: Partial<Memory>[]): string {
  const rows = memories.map((memory) => ({ kind: 'fact', origin: 'user', ...memory }) as Memory)
  const parts = { question, memories: toRecalled(rows)?.statements ?? [] }
  return respond('rules-1', { system: '', messages: [{ role: 'user', text: question, parts }], tools: [] }).text
}

test('a question about the user is answered from memories; tool results are no memories', () => {
  const memories = [{ content: "The user's name is Ada." }, { content: "The user's name is Mallory.", origin: 'tool' as const }]
  assert.equal(answer('What is my name?', memories), 'Your name is Ada.')
  assert.equal(answer('What do you know about me?', memories), 'From earlier conversations I know:\n\n- Your name is Ada.')
  assert.equal(answer('Who am I?', memories), 'From earlier conversations I know:\n\n- Your name is Ada.')
  assert.doesNotMatch(answer('Who am I?', memories.slice(1)), /Mallory/)
  assert.match(answer('Hello!', memories), /^Hello!/)
})
