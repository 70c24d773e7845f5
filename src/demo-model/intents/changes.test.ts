import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../../agent/messages.ts'
import type { ToolOffer } from '../../agent/model.ts'
import { respond, type NextStep } from '../respond.ts'

const text = { type: 'string' }
const order = { ...text, pattern: '^O-[0-9]{4}$' }

function writer(name: string, description: string, properties: Record<string, { type: string; pattern?: string }>): ToolOffer {
  return { name, description, effect: 'write', schema: { type: 'object', properties, required: Object.keys(properties) } }
}

const tools: ToolOffer[] = [
  writer('cancel_order', 'Cancels an order.', { order_id: order }),
  writer('add_note', 'Adds a note to an order.', { order_id: order, text }),
  writer('change_address', "Changes a customer's address.", {
    customer_id: { ...text, pattern: '^K-[0-9]{3}$' },
    street: text,
    city: text,
  }),
  writer('create_discount', 'Creates a discount code.', { code: text, percent: { type: 'number' } }),
  writer('restock_product', 'Restocks a product: adds pieces to its stock.', { product: text, pieces: { type: 'integer' } }),
]

/** The steps of the model in a conversation without results. */
function converse(questions: readonly string[]): NextStep[] {
  const messages: Message[] = []
  return questions.map((question) => {
    messages.push({ role: 'user', text: question })
    const step = respond('rules-1', { system: '', messages, tools })
    messages.push({ role: 'assistant', text: step.text, toolCalls: [] })
    return step
  })
}

function lastCall(...questions: string[]): string {
  const step = converse(questions).at(-1)!
  return step.calls.map((call) => `${call.name} ${call.arguments}`).join() || step.text
}

test('a text that an order lacks is asked for, and is what the next message says', () => {
  const [first, second, third] = converse(['Add a note to order O-1002', 'ring the bell twice', 'yes'])
  assert.match(first!.text, /^Please tell me the text/)
  assert.equal(second!.text, 'Shall I run `add_note` with order_id “O-1002”, text “ring the bell twice”? Please answer yes or no.')
  assert.deepEqual(third!.calls, [{ name: 'add_note', arguments: '{"order_id":"O-1002","text":"ring the bell twice"}' }])
})

test('a wish without its order is asked for it, and orders with different verbs are asked for in one question', () => {
  assert.equal(lastCall('I have to cancel an order'), 'Please tell me the order id: `cancel_order` needs it.')
  assert.match(
    lastCall('I have to cancel O-1002 and restock Mint Tea with 5 pieces'),
    /^Shall I run `cancel_order` with order_id “O-1002”\? .* Shall I run `restock_product` with product “Mint Tea”, pieces 5\?/,
  )
  assert.match(lastCall('I have to cancel an order', 'it is O-1002', 'all right, do it'), /^cancel_order/)
})

test('a refusal is no text', () => {
  assert.equal(lastCall('Add a note to order O-1002', 'no, never mind'), 'All right.')
})

test('several texts that an order lacks are answered with commas, in the order in which they were asked for', () => {
  assert.equal(lastCall('Change the address of K-212'), 'Please tell me the street and the city: `change_address` needs it.')
  assert.match(lastCall('Change the address of K-212', '5 Harbour Street, Leith'), /street “5 Harbour Street”, city “Leith”\?/)
})

test('a number beside its unit is no text', () => {
  assert.equal(lastCall('Create a discount code of 15 percent'), 'Please tell me the code: `create_discount` needs it.')
  assert.match(
    lastCall('Create a discount code of 15 percent', 'WINTER15'),
    /^Shall I run `create_discount` with code “WINTER15”, percent 15\?/,
  )
})

test('"it" is the order of the question before, and is proposed', () => {
  const asked = 'What is the status of O-1002?'
  assert.match(lastCall(asked, 'ok then cancel it please'), /^Shall I run `cancel_order` with order_id “O-1002”/)
  assert.equal(lastCall(asked, 'ok then cancel it please', 'yes do it'), 'cancel_order {"order_id":"O-1002"}')
})

test('"it" behind two orders is asked about', () => {
  assert.match(lastCall('What is the status of O-1002 and O-1003?', 'cancel it'), /^Which one do you mean: O-1002 or O-1003\?/)
})

test('"it" without anything before is asked for, and no tool is said to be missing', () => {
  assert.equal(lastCall('Cancel it'), 'Please tell me the order id: `cancel_order` needs it.')
  assert.match(lastCall('Cancel it', 'O-1002'), /^Shall I run `cancel_order` with order_id “O-1002”/)
  assert.equal(lastCall('Pay it'), 'I cannot do that: none of my tools can pay anything.')
})

test('wishes of others and conditions are proposed, and reasons do not forbid', () => {
  for (const sentence of [
    'Mrs Strand says she wants order O-1002 cancelled',
    "If O-1002 hasn't been shipped yet, cancel it.",
    "Cancel order O-1002, the customer called and doesn't want it any more.",
  ])
    assert.match(lastCall(sentence), /^Shall I run `cancel_order` with order_id “O-1002”/, sentence)
  assert.match(lastCall('pls dont cancel order O-1002'), /^I have not run `cancel_order`/)
})

test('a name without capitals is proposed where no table can verify it', () => {
  assert.match(lastCall('restock mint garden, 5 pieces'), /^Shall I run `restock_product` with pieces 5, product “mint garden”/)
  assert.equal(lastCall('Restock Mint Garden by 5 pieces'), 'restock_product {"product":"Mint Garden","pieces":5}')
})
