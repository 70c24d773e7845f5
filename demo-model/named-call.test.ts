import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject, JsonSchema, JsonValue, Message } from '../src/agent/messages.ts'
import type { ToolOffer } from '../src/agent/model.ts'
import { workSince } from '../test/fixtures/work-meter.ts'
import { readNamedCall } from './named-call.ts'
import { respond } from './respond.ts'

function tool(name: string, description: string, properties: Record<string, JsonSchema>, required = Object.keys(properties)): ToolOffer {
  return { name, description, effect: 'read', schema: { type: 'object', properties, required } }
}

const text = { type: 'string' }
const tools = [
  tool('everything__echo', 'Echoes back the input.', { message: text }),
  tool('everything__add', 'Adds two numbers.', { a: { type: 'number' }, b: { type: 'number' } }),
  tool('everything__list', 'Lists everything.', { verbose: { type: 'boolean' } }, []),
  tool(
    'orders__createOrder',
    'Makes an order.',
    { customer_id: text, items: { type: 'array', items: text }, express: { type: 'boolean' } },
    ['customer_id', 'items'],
  ),
  tool('run_python', 'Runs Python code.', { code: text }),
  tool('web_page', 'Reads a web page at an address.', { url: text }),
  tool('chart', 'Draws a chart from a Vega-Lite specification.', { spec: { type: 'object' }, data: text }, ['spec']),
  tool('http_request', 'Makes one HTTP request.', { method: { type: 'string', enum: ['GET', 'POST'] }, url: text }),
  tool('greet', 'Greets somebody.', { name: text }),
  tool('handbook', 'Searches the documents handbook/**.', { query: text, limit: { type: 'integer' } }, ['query']),
  tool('calculator', 'Calculates.', { expression: text }),
]

const code = 'import math\nprint(math.pi)'
const spec = { mark: 'bar', data: { values: [{ a: 'x', b: 1 }] }, encoding: { x: { field: 'a' } } }

const orders: [message: string, name: string, input: JsonObject][] = [
  ['Use everything__echo with message "hi"', 'everything__echo', { message: 'hi' }],
  ['Use everything__echo with message “hi there”, please.', 'everything__echo', { message: 'hi there' }],
  ['call everything__echo: {"message": "a, b; and then c? Yes"}', 'everything__echo', { message: 'a, b; and then c? Yes' }],
  ['everything__echo message=hello', 'everything__echo', { message: 'hello' }],
  ['Please run everything.echo "as it is"'.replace('everything.echo', 'everything__echo'), 'everything__echo', { message: 'as it is' }],
  ['Use everything__add with a=2 and b=3.5', 'everything__add', { a: 2, b: 3.5 }],
  ['Use everything__add with a: -2, b: 3', 'everything__add', { a: -2, b: 3 }],
  ['Use everything__add\n```json\n{"a": 1, "b": 2}\n```', 'everything__add', { a: 1, b: 2 }],
  ['everything__list', 'everything__list', {}],
  ['Call everything__list with verbose=true', 'everything__list', { verbose: true }],
  [
    'Use orders__createOrder with customer id "C 17", items ["a","b"], express: yes',
    'orders__createOrder',
    { customer_id: 'C 17', items: ['a', 'b'], express: true },
  ],
  [`Run this Python:\n\`\`\`python\n${code}\n\`\`\``, 'run_python', { code }],
  ['```py\n1 + 1\n```', 'run_python', { code: '1 + 1' }],
  ['Use run_python: print(sum(range(10)))', 'run_python', { code: 'print(sum(range(10)))' }],
  ['Read https://example.com/page?a=1.', 'web_page', { url: 'https://example.com/page?a=1' }],
  ['Please summarize the page at https://example.com/', 'web_page', { url: 'https://example.com/' }],
  ['What does https://example.com say about foxes?', 'web_page', { url: 'https://example.com' }],
  ['Use http_request with method GET and url https://example.com/a', 'http_request', { method: 'GET', url: 'https://example.com/a' }],
  [`Chart it: ${JSON.stringify(spec)}`, 'chart', { spec }],
  [`Use chart with ${JSON.stringify({ spec, data: 'sales' })}`, 'chart', { spec, data: 'sales' }],
  [`Use the tool chart: ${JSON.stringify(spec)}`, 'chart', { spec }],
  ['Use greet with name "Ann"', 'greet', { name: 'Ann' }],
  ['`greet` name: Ann', 'greet', { name: 'Ann' }],
]

test('an order with the name of a tool, or with input for only one tool, becomes that call', async (t) => {
  for (const [message, name, input] of orders) {
    await t.test(message, () => {
      const choice = readNamedCall(message, tools)
      assert.deepEqual({ name: choice?.tool.name, input: choice?.input }, { name, input })
    })
  }
})

const questions = [
  'What does the handbook say about leave?',
  'Is there a chart of sales?',
  'Greet everybody',
  'What is everything__echo?',
  'How do I use the calculator?',
  'Use the handbook to find the rules on leave',
  'Which orders came in? Put them together with https://example.com',
  'Explain ```python\nx = 1``` in words of its own'.replace('```python\nx = 1```', '`x = 1`'),
  'Say "use everything__echo with message hi"',
  'Chart the sales by region',
  'call me "Ann"',
]

test('an ordinary question is no order', async (t) => {
  for (const question of questions) await t.test(question, () => assert.equal(readNamedCall(question, tools), undefined))
})

const echo = tools[0]!
const find = tool('find_tools', 'Finds tools by what they do.', { query: text, limit: { type: 'integer' } }, ['query'])
const order = 'Use everything__echo with message "hi"'

function reply(messages: Message[], offers: ToolOffer[]) {
  return respond('rules-1', { system: '', messages, tools: offers })
}

function called(id: string, name: string, input: JsonObject, output: JsonValue): Message[] {
  return [
    { role: 'assistant', text: '', toolCalls: [{ id, name, arguments: JSON.stringify(input) }] },
    { role: 'tool', callId: id, name, text: JSON.stringify(output), isError: false },
  ]
}

test('a named tool that is not offered is searched for and called, and only its result is reported', () => {
  const messages: Message[] = [{ role: 'user', text: order }]
  assert.deepEqual(reply(messages, [find]).calls, [{ name: 'find_tools', arguments: '{"query":"everything__echo"}' }])
  const afterSearch = [
    ...messages,
    ...called('1', 'find_tools', { query: 'everything__echo' }, { tools: [{ name: 'everything__echo' }], total: 50 }),
  ]
  assert.deepEqual(reply(afterSearch, [find, echo]).calls, [{ name: 'everything__echo', arguments: '{"message":"hi"}' }])
  const done = [...afterSearch, ...called('2', 'everything__echo', { message: 'hi' }, 'Echo: hi')]
  assert.deepEqual(reply(done, [find, echo]), { text: 'Echo: hi', reasoning: '', calls: [] })
  const missing = [
    ...messages,
    ...called('1', 'find_tools', { query: 'everything__echo' }, { tools: [], total: 50, hint: 'No tool fits.' }),
  ]
  const { calls, text: answer } = reply(missing, [find])
  assert.deepEqual(calls, [])
  assert.match(answer, /No tool fits/)
})

test('tools are not searched for unless a tool is named', () => {
  const { calls } = reply([{ role: 'user', text: 'Find the rules on leave' }], [find])
  assert.deepEqual(calls, [])
})

test('charts, pages and code runs are described in words', () => {
  const file = (name: string) => ({ artifact_id: name, file_name: name, file_type: 'image/png', size: 1 })
  const describe = (message: string, name: string, input: JsonObject, output: JsonValue) =>
    reply([{ role: 'user', text: message }, ...called('1', name, input, output)], tools).text
  const chart = { files: [file('a.png'), file('a.svg')], width: 685, height: 806, rows: 3, warnings: ['Something is odd.'] }
  assert.equal(
    describe(`Chart it: ${JSON.stringify(spec)}`, 'chart', { spec }, chart),
    'I drew a chart of 3 rows: `a.png` and `a.svg` (685 × 806 pixels).\n\nSomething is odd.',
  )
  const page = { note: 'n', url: 'https://example.com/', title: 'Foxes', author: 'Ann', text: 'They live in woods.' }
  assert.equal(
    describe('Read https://example.com/', 'web_page', { url: 'https://example.com/' }, page),
    '**Foxes** (Ann)\nhttps://example.com/\n\nThey live in woods.',
  )
  const run = { stdout: '3.14\n', result: 7, files: ['a.csv'] }
  assert.equal(
    describe('```py\n1 + 1\n```', 'run_python', { code: '1 + 1' }, run),
    '```\n3.14\n```\n\nThe result is **7**.\n\nI made `a.csv`.',
  )
})

test('the time to read a long message is linear in its length', () => {
  const work = workSince()
  for (const piece of [
    'chart ',
    '`',
    '"',
    '“',
    '{',
    '}',
    '{"a":',
    'use chart {',
    "'a",
    'https://',
    'a__',
    'message "',
    '```',
    '\\"',
    ': ',
    'spec: {',
  ])
    readNamedCall(`Use everything__echo${piece.repeat(100_000 / piece.length)}`, tools)
  const ms = work()
  assert.ok(ms < 3_000, `${ms} ms`)
})
