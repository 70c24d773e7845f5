import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ToolOffer } from '../../src/agent/model.ts'
import { respond } from '../respond.ts'

const text = { type: 'string' }
const reader = (name: string, description: string, parameter: string): ToolOffer => {
  return { name, description, effect: 'read', schema: { type: 'object', properties: { [parameter]: text }, required: [parameter] } }
}
const tools = [
  reader(
    'shop',
    `Queries tables with SQL. Tables:
- orders: order_id VARCHAR (O-1), customer_id VARCHAR (K-209), product VARCHAR (Bread Knife), ordered DATE, total DOUBLE
- customers: customer_id VARCHAR (K-209), name VARCHAR (Freya Olsen)
- products: product VARCHAR (Bread Knife), stock INTEGER`,
    'sql',
  ),
  reader('handbook', 'Searches the handbook.', 'query'),
]

/** What is done for a request after a question and its answer: the input of the call, or the text. */
function after(answer: string, request: string, question = 'Show me order O-1'): string {
  const messages = [
    { role: 'user' as const, text: question },
    { role: 'assistant' as const, text: answer, toolCalls: [] },
    { role: 'user' as const, text: request },
  ]
  const step = respond('rules-1', { system: '', messages, tools })
  return step.calls[0]?.arguments ?? step.text
}

test('"the customer" is the one of the row that was shown, and is asked for where there is none', () => {
  const row = '| Order id | Customer id | Total |\n|---|---|---:|\n| O-1 | K-209 | 29.07 |'
  assert.match(after(row, 'Who is the customer?'), /FROM \\"customers\\" WHERE \\"customer_id\\" = 'K-209'/)
  assert.equal(after(`${row}\n| O-2 | K-210 | 1 |`, 'Who is the customer?'), 'Which customer do you mean?')
})

test('"where does it say so" names the documents that the answer before quotes', () => {
  const quote = '**Leave > Sick leave** (`handbook/leave.md`)\n\nTell your manager before 10:00.'
  assert.equal(after(quote, 'Where does it say so?'), 'It is in `handbook/leave.md` under “Leave > Sick leave”.')
  assert.equal(after('The total is **12**.', 'And where is that written?'), 'My last answer quotes no document.')
})

test('a chart without a figure of its own draws the figure of the question before', () => {
  const sql =
    /SELECT \\"product\\", round\(sum\(\\"total\\"\), 2\).* FROM \\"orders\\" WHERE month\(\\"ordered\\"\) BETWEEN 4 AND 4 GROUP BY 1/
  assert.match(after('The total is **12**.', 'Draw a bar chart by product', 'What is the total in April?'), sql)
})

test('a time that does not exist is told behind another question, too', () => {
  const before = 'What is the total in April?'
  assert.equal(after('The total is **12**.', 'What about the fifth quarter?', before), 'There is no Q5: a year has four quarters.')
})

test('"each one" asks for a figure of each thing that was listed', () => {
  assert.match(after('', 'And how often was each one ordered?', 'Which products have been ordered?'), /GROUP BY 1/)
})

test('the person of a prohibition is the one whom the request is about', () => {
  const asked = 'do not delete K-209, I only want to know his name'
  assert.match(after('', asked), /\\"customer_id\\" = 'K-209'/)
})

test('a question about what may be done is no question about rows', () => {
  assert.match(after('', 'Can it be combined with a customer id?'), /^\{"query":/)
})

test('thanks in several words are thanks', () => {
  assert.equal(after('', 'great, cheers'), 'You are welcome.')
})

test('a plural in -ves stands for the value in -fe', () => {
  assert.match(after('', 'How many Bread Knives are in stock?'), /WHERE \\"product\\" = 'Bread Knife'/)
})
