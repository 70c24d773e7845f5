import assert from 'node:assert/strict'
import test from 'node:test'
import type { Message } from '../src/agent/messages.ts'
import { ModelError, type ModelEvent, type ModelReply, type ModelRequest, type ToolOffer } from '../src/agent/model.ts'
import { collectReply } from '../src/agent/scripted-model.ts'
import { workSince } from '../test/fixtures/work-meter.ts'
import { createDemoModel } from './demo-model.ts'

const calculator: ToolOffer = {
  name: 'calculator',
  description: 'Calculates a mathematical expression exactly and returns the result. Knows percentages (17% of 2,340), functions, units.',
  effect: 'read',
  schema: { type: 'object', properties: { expression: { type: 'string' } }, required: ['expression'] },
}
const tools: ToolOffer[] = [
  calculator,
  {
    name: 'current_time',
    description: 'Tells the current date, time and weekday, in UTC or in a time zone.',
    effect: 'read',
    schema: { type: 'object', properties: { timezone: { type: 'string' } } },
  },
  {
    name: 'list_files',
    description: 'Lists the files that can be read.',
    effect: 'read',
    schema: { type: 'object', properties: { path: { type: 'string' } } },
  },
  {
    name: 'read_file',
    description: 'Reads a file as text, from an offset in characters on.',
    effect: 'read',
    schema: { type: 'object', properties: { path: { type: 'string' }, offset: { type: 'integer' } }, required: ['path'] },
  },
  {
    name: 'handbook',
    description:
      'Searches the documents handbook/** and returns passages with their file and heading. Headings: Annual leave, Sick leave, Parental leave, ' +
      'Expenses, How to claim, Remote work, Core hours, Equipment, Passwords, Devices, Hotels, Probation period.',
    effect: 'read',
    schema: { type: 'object', properties: { query: { type: 'string' }, limit: { type: 'integer' } }, required: ['query'] },
  },
  {
    name: 'sales',
    description:
      'Runs one SQL SELECT (DuckDB) over these tables:\n' +
      '- sales: date DATE, region VARCHAR (East, North, South, West), product VARCHAR (Espresso Duo, Grinder Pro, House Blend 1kg), channel VARCHAR (Online, Partner), units BIGINT, unit_price DOUBLE, amount DOUBLE\n' +
      '- customers: customer_id VARCHAR, name VARCHAR, region VARCHAR (East, North, South, West), customer_since DATE, machines BIGINT',
    effect: 'read',
    schema: { type: 'object', properties: { sql: { type: 'string' } }, required: ['sql'] },
  },
]

const model = createDemoModel('rules-1')

async function ask(messages: Message[] | string, offers: ToolOffer[] = tools, system = ''): Promise<ModelReply & { events: ModelEvent[] }> {
  const history: Message[] = typeof messages === 'string' ? [{ role: 'user', text: messages }] : messages
  const { reply, events } = await collectReply(model, { system, messages: history, tools: offers })
  return { ...reply, events }
}

/** The transcript after the calls that the question led to have given `outputs`. */
async function afterCalls(question: string, ...outputs: unknown[]): Promise<Message[]> {
  const { toolCalls } = await ask(question)
  assert.equal(toolCalls.length, outputs.length, question)
  return [
    { role: 'user', text: question },
    { role: 'assistant', text: '', toolCalls: toolCalls.map((call, at) => ({ ...call, id: `c${at}` })) },
    ...toolCalls.map((call, at): Message => ({
      role: 'tool',
      callId: `c${at}`,
      name: call.name,
      text: JSON.stringify(outputs[at]),
      isError: false,
    })),
  ]
}

const expressions: [string, string][] = [
  ['What is 17% of 2,340?', '2340 * 17 / 100'],
  ['what is 3 plus 4 times 2', '3 + 4 * 2'],
  ['the square root of 144', 'sqrt(144)'],
  ['Convert 5 km in miles', '5 km to miles'],
  ['Calculate (12 + 8) * 3.5 / 2', '(12 + 8) * 3.5 / 2'],
  ['How much is 15% off 80?', '80 * (100 - 15) / 100'],
  ['calculate the sum of 3, 4 and 5', 'sum(3, 4, 5)'],
  ['100 degrees fahrenheit in celsius', '100 fahrenheit to celsius'],
  ['How many minutes are in 3 hours?', '3 hours to minutes'],
  ['seven times eight', '7 * 8'],
  ['2 to the power of 10', '2^10'],
]

test('arithmetic in words and signs becomes an expression', async (t) => {
  for (const [question, expression] of expressions) {
    await t.test(question, async () => {
      const { toolCalls, finish } = await ask(question)
      assert.deepEqual(toolCalls, [{ name: 'calculator', arguments: JSON.stringify({ expression }) }])
      assert.equal(finish, 'tool_calls')
    })
  }
})

const otherRequests: [string, string, Record<string, unknown>][] = [
  ['What time is it in Tokyo?', 'current_time', { timezone: 'Asia/Tokyo' }],
  ['What is the current time in San Francisco?', 'current_time', { timezone: 'America/Los_Angeles' }],
  ['What day is it today?', 'current_time', {}],
  ['List the files', 'list_files', {}],
  ['list the files in handbook', 'list_files', { path: 'handbook' }],
  ['Read handbook/leave.md', 'read_file', { path: 'handbook/leave.md' }],
  ['show me data/products.csv', 'read_file', { path: 'data/products.csv' }],
  ['What does the handbook say about leave?', 'handbook', { query: 'leave' }],
  ['What does the handbook say about sales?', 'handbook', { query: 'sales' }],
  ['Search the handbook for parental leave', 'handbook', { query: 'parental leave' }],
  ['How many days of annual leave do I get?', 'handbook', { query: 'How many days of annual leave do I get' }],
  ['Tell me about passwords', 'handbook', { query: 'passwords' }],
  ['Can I expense a taxi?', 'handbook', { query: 'Can I expense a taxi' }],
  ['When do core hours start?', 'handbook', { query: 'When do core hours start' }],
  ['What does handbook/security.md say about passwords?', 'read_file', { path: 'handbook/security.md' }],
  ['Is there a rule on pets?', 'handbook', { query: 'Is there a rule on pets' }],
]

test('a request goes to the tool that fits, with its arguments', async (t) => {
  for (const [question, name, input] of otherRequests) {
    await t.test(question, async () => assert.deepEqual((await ask(question)).toolCalls, [{ name, arguments: JSON.stringify(input) }]))
  }
})

test('parameters are filled by their schema, and a tool with missing input is not called', async () => {
  const order: ToolOffer = {
    name: 'orders__getOrder',
    description: 'Gets an order.',
    effect: 'read',
    schema: { type: 'object', properties: { orderId: { type: 'integer' }, detail: { enum: ['short', 'full'] } }, required: ['orderId'] },
  }
  const weather: ToolOffer = {
    name: 'weather',
    description: 'The weather of a city.',
    effect: 'read',
    schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  }
  const offers = [order, weather]
  assert.deepEqual((await ask('Get order 4711 in full', offers)).toolCalls, [
    { name: 'orders__getOrder', arguments: '{"orderId":4711,"detail":"full"}' },
  ])
  assert.deepEqual((await ask('How is the weather in New Delhi?', offers)).toolCalls, [
    { name: 'weather', arguments: '{"city":"New Delhi"}' },
  ])
  assert.deepEqual((await ask('get my order', offers)).toolCalls, [])
})

test('independent parts are sent to their tools in the same turn', async () => {
  const { toolCalls } = await ask('What is 12*12; what time is it in Tokyo; and list the files')
  assert.deepEqual(
    toolCalls.map((call) => [call.name, call.arguments]),
    [
      ['calculator', '{"expression":"12 * 12"}'],
      ['current_time', '{"timezone":"Asia/Tokyo"}'],
      ['list_files', '{}'],
    ],
  )
})

test('a part that needs an earlier figure waits for it', async () => {
  const messages = await afterCalls('What are the total sales in the North, and then what is 10% of that?', {
    columns: ['total_amount'],
    rows: [[6265.5]],
    row_count: 1,
    truncated: false,
  })
  const second = await ask(messages)
  assert.deepEqual(second.toolCalls, [{ name: 'calculator', arguments: '{"expression":"6265.5 * 10 / 100"}' }])
  messages.push({ role: 'assistant', text: '', toolCalls: [{ ...second.toolCalls[0]!, id: 'd1' }] })
  messages.push({ role: 'tool', callId: 'd1', name: 'calculator', text: '{"result":"626.55"}', isError: false })
  const { text, toolCalls } = await ask(messages)
  assert.deepEqual(toolCalls, [])
  assert.match(text, /6,265\.50[^]*626\.55/)
})

const answers: [string, unknown, RegExp][] = [
  ['What is 17% of 2,340?', { expression: '17% of 2340', result: '397.8' }, /^17% of 2,340 is \*\*397\.8\*\*\.$/],
  [
    'What time is it in Tokyo?',
    { time: '2026-11-21T17:18:35+09:00', timezone: 'Asia/Tokyo', weekday: 'Saturday' },
    /17:18.*Saturday, 21 November 2026.*Asia\/Tokyo/,
  ],
  ['List the files', { files: ['a.md', 'data/b.csv'] }, /2 files:[^]*`a\.md`[^]*`data\/b\.csv`/],
  ['Read docs/notes.md', { path: 'notes.md', text: 'Short.', offset: 0, total_characters: 9000, next_offset: 6 }, /Short\.[^]*6 of 9,000/],
  [
    'What were the total sales by region?',
    {
      columns: ['region', 'total_amount'],
      rows: [
        ['South', 1234.5],
        ['East', 1000],
      ],
      row_count: 2,
      truncated: false,
    },
    /\*\*South\*\* has the highest total amount with \*\*1,234\.50\*\*[^]*2,234\.50[^]*\| East \| 1,000 \|/,
  ],
  [
    'What were the sales in the North?',
    { columns: ['total_amount'], rows: [[98078.91]], row_count: 1, truncated: false },
    /for region North is \*\*98,078\.91\*\*/,
  ],
  ['How many sales over 500?', { columns: ['number_of_sales'], rows: [[316]], row_count: 1, truncated: false }, /\*\*316\*\* sales/],
  [
    'What does the handbook say about leave?',
    {
      passages: [
        {
          file: 'handbook/leave.md',
          heading: 'Annual leave',
          text: 'You have 27 days.\n\n- Ask early\n- Rest well',
          score: 2,
          metadata: {},
        },
      ],
    },
    /\*\*Annual leave\*\* \(`handbook\/leave\.md`\)[^]*27 days[^]*- Ask early\n- Rest well/,
  ],
  ['Is there a rule on pets?', { passages: [] }, /nothing about/],
  [
    'Is there a rule on pets?',
    { passages: [{ file: 'office.md', heading: 'Animals', text: 'Dogs stay at home.', score: 0.7, metadata: {} }] },
    /^\*\*Animals\*\* \(`office\.md`\)\n\nDogs stay at home\.\n\nI did not find “pets” in it\.$/,
  ],
]

test('results are reported with their figures', async (t) => {
  for (const [question, output, expected] of answers) {
    await t.test(question, async () => {
      const reply = await ask(await afterCalls(question, output))
      assert.deepEqual(reply.toolCalls, [])
      assert.match(reply.text, expected)
      assert.equal(reply.events.map((event) => (event.type === 'text' ? event.text : '')).join(''), reply.text)
    })
  }
})

test('the output of an unknown tool is rendered readably', async () => {
  const stock: ToolOffer = { name: 'stock', description: 'The stock of parts.', effect: 'read', schema: { type: 'object', properties: {} } }
  const messages: Message[] = [
    { role: 'user', text: 'Show the stock of parts' },
    { role: 'assistant', text: '', toolCalls: [{ id: 'c', name: 'stock', arguments: '{}' }] },
    {
      role: 'tool',
      callId: 'c',
      name: 'stock',
      text: '{"place":"Hall 2","parts":[{"part":"bolt","left":12500},{"part":"nut","left":7}]}',
      isError: false,
    },
  ]
  assert.match((await ask(messages, [stock])).text, /\*\*place\*\*: Hall 2[^]*\| part \| left \|[^]*\| bolt \| 12,500 \|/)
})

test('an error is reported, and the same call is not repeated', async () => {
  const messages = await afterCalls('What is 17% of 2,340?', { error: 'The thread is gone.' })
  const last = messages.at(-1)!
  if (last.role === 'tool') last.isError = true
  const { text, toolCalls } = await ask(messages)
  assert.deepEqual(toolCalls, [])
  assert.match(text, /`calculator` could not do that: The thread is gone\./)
})

test('without tools the model answers from existing results', async () => {
  const messages = await afterCalls('What is 17% of 2,340?', { result: '397.8' })
  const { text, toolCalls } = await ask(messages, [])
  assert.deepEqual(toolCalls, [])
  assert.match(text, /397\.8/)
})

const chats: [string[], string, RegExp][] = [
  [['What were the total sales by region?', 'and for the South?'], 'sales', /sum\(\\"amount\\"\).*WHERE \\"region\\" = 'South'/],
  [['Sales in the North in March 2025', 'what about units?'], 'sales', /sum\(\\"units\\"\).*2025-03-01.*'North'/],
  [['Sales in the North', 'what about units?', 'and by month?'], 'sales', /%Y-%m.*sum\(\\"units\\"\).*'North'/],
  [['What is 17% of 2,340?', 'and 20%?'], 'calculator', /"2340 \* 20 \/ 100"/],
  [['What time is it in Tokyo?', 'and in Paris?'], 'current_time', /Europe\/Paris/],
  [['What does the handbook say about leave?', 'and what about expenses?'], 'handbook', /"expenses"/],
]

test('a follow-up keeps the parts that it does not replace', async (t) => {
  for (const [questions, name, expected] of chats) {
    await t.test(questions.join(' '), async () => {
      const messages = questions.flatMap((text): Message[] => [
        { role: 'user', text },
        { role: 'assistant', text: 'Answered.', toolCalls: [] },
      ])
      const { toolCalls } = await ask(messages.slice(0, -1))
      assert.equal(toolCalls.length, 1)
      assert.equal(toolCalls[0]!.name, name)
      assert.match(toolCalls[0]!.arguments, expected)
    })
  }
})

test('texts given with a question answer it without a tool', async () => {
  const { text, toolCalls } = await ask(
    '# Context files\n\n## notes.md\n\nThe Falcon project is led by Mira Stone.\n\nIts budget is 40,000.\n\nWho leads the Falcon project?',
  )
  assert.deepEqual(toolCalls, [])
  assert.match(text, /Mira Stone/)
})

test('earlier statements of the person are found', async () => {
  const messages: Message[] = [
    { role: 'user', text: 'My name is Ada.' },
    { role: 'assistant', text: 'Noted.', toolCalls: [] },
    { role: 'user', text: 'What is my name?' },
  ]
  assert.match((await ask(messages)).text, /My name is Ada/)
})

test('a request that fits no tool is answered with a description of the model', async () => {
  const { text, toolCalls, finish } = await ask('Write me a poem about the sea')
  assert.deepEqual(toolCalls, [])
  assert.equal(finish, 'stop')
  assert.match(text, /rules-1[^]*`calculator`[^]*llms\.primary/)
  assert.match((await ask('Hello!')).text, /^Hello!/)
})

test('the reasoning names the chosen tool and why, and the usage is estimated', async () => {
  const { events, usage, reasoning } = await ask('What were the total sales by region?')
  assert.deepEqual(events, [{ type: 'reasoning', text: "sales fits 'sales', 'region'." }])
  assert.equal(reasoning, "sales fits 'sales', 'region'.")
  assert.equal(usage.model, 'rules-1')
  assert.ok(usage.input > 200 && usage.output > 20, JSON.stringify(usage))
})

test('an answer is streamed in pieces', async () => {
  const { events } = await ask('What can you do?')
  assert.ok(events.length > 10, String(events.length))
})

test('images are refused', async () => {
  const messages: Message[] = [{ role: 'user', text: 'What is this?', images: [{ mediaType: 'image/png', data: 'AAAA' }] }]
  await assert.rejects(ask(messages), (error) => error instanceof ModelError && error.code === 'refused' && /images/.test(error.message))
})

test('an abort ends the reply', async () => {
  const request: ModelRequest = { system: '', messages: [{ role: 'user', text: 'Hello' }], tools }
  await assert.rejects(collectReply(model, request, AbortSignal.abort()), { name: 'AbortError' })
})

test('a long transcript is processed quickly', async () => {
  const turn: Message[] = [
    { role: 'user', text: 'What were the total sales by region?' },
    { role: 'assistant', text: 'word '.repeat(600), toolCalls: [] },
  ]
  const messages: Message[] = [...Array.from({ length: 40 }, () => turn).flat(), { role: 'user', text: 'and for the South?' }]
  await ask(messages)
  const startedAt = performance.now()
  for (let round = 0; round < 10; round++) await ask(messages)
  const perReplyMs = (performance.now() - startedAt) / 10
  // 5 ms is the aim; the margin is for a busy machine.
  assert.ok(perReplyMs < 50, `${perReplyMs} ms`)
})

test('a long question of only signs or a single word is processed quickly', async () => {
  await ask('Hello')
  for (const unit of ['%', ')', '!', '-', '1-', 'remember ', 'file-']) {
    const work = workSince()
    await ask(`What is ${unit.repeat(190_000 / unit.length)}`)
    const tookMs = work()
    assert.ok(tookMs < 500, `${unit}: ${tookMs} ms`)
  }
})

test('a long order for a named tool takes time in proportion to its length', async () => {
  const write: ToolOffer = {
    name: 'write_file',
    description: 'Writes a file.',
    effect: 'write',
    schema: {
      type: 'object',
      properties: { file_name: { type: 'string' }, content: { type: 'string' } },
      required: ['file_name', 'content'],
    },
  }
  for (const pump of ['a', '.', '“', "'", '3.', '{']) {
    const work = workSince()
    await ask(`Use write_file with content ${pump.repeat(100_000)}`, [write])
    assert.ok(work() < 2000, pump)
  }
})

test('each date of a request reaches the parameter that it follows', async () => {
  const days: ToolOffer = {
    name: 'working_days',
    description: 'Counts the working days from one date to another.',
    effect: 'read',
    schema: { type: 'object', properties: { from: { type: 'string' }, to: { type: 'string' } }, required: ['from', 'to'] },
  }
  const { toolCalls } = await ask('How many working days are there from 2026-12-21 to 2026-12-31?', [days])
  assert.deepEqual(JSON.parse(toolCalls[0]!.arguments), { from: '2026-12-21', to: '2026-12-31' })
})
