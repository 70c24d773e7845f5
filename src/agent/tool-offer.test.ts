import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from './messages.ts'
import { planExecute } from './plan.ts'
import { eventsOf, fakeTool, optionsOf, story } from './react-fixture.ts'
import { call, say, ScriptedModel } from './scripted-model.ts'
import type { Tool, ToolSearch } from './tool.ts'
import { offerTools } from './tool-offer.ts'

/** Finds tools whose description has one of the words. */
const search: ToolSearch = (query, among, { limit }) => {
  const words = new Set(query.split(/\W+/))
  return among.filter(({ description }) => description.split(/\W+/).some((word) => word !== '' && words.has(word))).slice(0, limit)
}

const many = Array.from({ length: 60 }, (_, n) => fakeTool(`s__t${n}`, { description: `number${n}x`, execute: async () => `gave ${n}` }))
const alone = fakeTool('calculator', { description: 'Calculates.' })

interface Given {
  findable?: Tool[]
  others?: Tool[]
  question?: string
  messages?: Message[]
}

function withOffer(model: ScriptedModel, { findable = many, others = [], question = 'Go.', messages }: Given = {}) {
  const tools = () => [...findable, ...others]
  const options = optionsOf(model, { filters: [], messages: messages ?? [{ role: 'user', text: question }] })
  return { ...options, ...offerTools({ tools, findable, filters: [], question, search }) }
}

const told = (model: ScriptedModel) => model.requests.map(({ tools }) => tools.map(({ name }) => name))

test('few tools are all offered, without find_tools', async () => {
  const model = new ScriptedModel(say('Done.'))
  await eventsOf(withOffer(model, { findable: many.slice(0, 40) }))
  assert.deepEqual(
    told(model)[0],
    many.slice(0, 40).map(({ name }) => name),
  )
})

test('of many tools the best fitting are offered; found tools follow and stay', async () => {
  const findable = [...many, alone]
  const model = new ScriptedModel(
    say('', call('find_tools', { query: 'number41x or number3x', limit: 2 })),
    say('', call('s__t41', {})),
    say('Done.'),
  )
  const options = withOffer(model, { findable, others: [fakeTool('create_sub_agent')], question: 'What is number33x?' })
  const events = await eventsOf(options)
  const [first, second, third] = told(model)
  assert.ok(first?.length === 17)
  assert.deepEqual(first?.slice(0, 4), ['find_tools', 'create_sub_agent', 's__t33', 'calculator'])
  assert.deepEqual(second, [...first, 's__t41'])
  assert.deepEqual(third, second)
  assert.ok(story(events).includes('c1 ends: success') && story(events).includes('c2 result: gave 41'))
  const result = events.find((event) => event.type === 'step_end')
  assert.deepEqual(result?.step.output, {
    tools: [
      { name: 's__t3', description: 'number3x', parameters: [] },
      { name: 's__t41', description: 'number41x', parameters: [] },
    ],
    total: 61,
  })
  assert.equal(result?.step.tool, 'find_tools')
})

test('a tool that was not offered can be called by its name, and is offered afterwards', async () => {
  const model = new ScriptedModel(say('', call('s__t50', {})), say('Done.'))
  const events = await eventsOf(withOffer(model))
  assert.ok(story(events).includes('c1 result: gave 50'))
  assert.equal(told(model)[1]?.at(-1), 's__t50')
})

test('a resumed run offers the same tools', async () => {
  const model = new ScriptedModel(
    say('', call('find_tools', { query: 'number41x' })),
    say('', call('find_tools', { query: 'number42x' })),
    say('Done.'),
  )
  const first = withOffer(model)
  await eventsOf(first)
  const again = new ScriptedModel(say('Done.'))
  await eventsOf(withOffer(again, { messages: first.messages.slice(0, -1) }))
  assert.deepEqual(told(again)[0], told(model)[2])
  assert.deepEqual(told(again)[0]?.slice(-2), ['s__t41', 's__t42'])
})

test('the last five tools used earlier in the conversation are offered', async () => {
  const used = [20, 21, 22, 23, 24, 25, 25].flatMap((n): Message[] => [
    { role: 'assistant', text: '', toolCalls: [{ id: `i${n}`, name: `s__t${n}`, arguments: '{}' }] },
    { role: 'tool', callId: `i${n}`, name: `s__t${n}`, text: 'x', isError: false },
  ])
  const model = new ScriptedModel(say('Done.'))
  const messages: Message[] = [
    { role: 'user', text: 'Hi.' },
    ...used,
    { role: 'assistant', text: 'Hello.', toolCalls: [] },
    { role: 'user', text: 'And?' },
  ]
  await eventsOf(withOffer(model, { messages, question: 'And?' }))
  const [first] = told(model)
  assert.deepEqual(first?.slice(1, 6), ['s__t25', 's__t24', 's__t23', 's__t22', 's__t21'])
  assert.equal(first?.length, 16)
})

test('the number of found tools on offer is limited', async () => {
  const finds = Array.from({ length: 20 }, (_, n) =>
    say('', call('find_tools', { query: Array.from({ length: 10 }, (__, m) => `number${n * 10 + m}x`).join(' '), limit: 20 })),
  )
  const findable = Array.from({ length: 300 }, (_, n) => fakeTool(`s__t${n}`, { description: `number${n}x` }))
  const model = new ScriptedModel(say('', call('s__t299', {})), ...finds, say('Done.'))
  await eventsOf({ ...withOffer(model, { findable }), maxIterations: 30 })
  const counts = told(model).map((names) => names.length)
  assert.ok(Math.max(...counts) <= 1 + 15 + 41, counts.join())
  // What was called stays.
  assert.ok(told(model).at(-1)?.includes('s__t299'))
})

test('a plan is made from the offered tools, and each step gets fitting ones', async () => {
  const model = new ScriptedModel(
    say('["Use number45x.", "Say so."]'),
    say('', call('s__t45', {})),
    say('It is 45.'),
    say('Said.'),
    say('45'),
  )
  await eventsOf(withOffer(model, { question: 'What is number33x?' }), undefined, planExecute)
  const asked = model.requests[0]?.messages.at(-1)
  const lines = (asked as { text: string }).text.split('\n').filter((line) => line.startsWith('- '))
  assert.equal(lines.length, 16)
  assert.match(lines[0]!, /^- find_tools: Finds tools/)
  assert.match(lines[1]!, /^- s__t33: number33x/)
  assert.equal(told(model)[1]?.at(-1), 's__t45')
})

test('the model gets the fault of an invalid find_tools query', async () => {
  const model = new ScriptedModel(
    say('', call('find_tools', {}), call('find_tools', { query: 'a', limit: 0 }), call('find_tools', { query: 'a', more: 1 })),
    say('', call('find_tools', { query: 'nothing' })),
    say('Done.'),
  )
  const events = await eventsOf(withOffer(model))
  const results = story(events).filter((line) => line.includes('result'))
  assert.match(results[0]!, /query must be a text/)
  assert.match(results[1]!, /limit must be a whole number from 1 to 20/)
  assert.match(results[2]!, /more is not a parameter/)
  assert.match(results[3]!, /"tools":\[\],"total":60,"hint":"No tool fits. There are tools of: s \(60\)."/)
})

test('find_tools shows descriptions as the filters allow', async () => {
  const sales = fakeTool('sales', { filters: true, description: 'Has Secretland.', describe: () => 'Has sales.' })
  const findable = [...many, sales]
  const filters = [{ tool: 'sales', key: 'region', type: 'equals' as const, value: 'North' }]
  const model = new ScriptedModel(say('', call('find_tools', { query: 'Has' })), say('Done.'))
  const options = { ...optionsOf(model), filters }
  await eventsOf({ ...options, ...offerTools({ tools: () => findable, findable, filters, question: 'Go.', search }) })
  assert.doesNotMatch(JSON.stringify(model.requests), /Secretland/)
  assert.match(JSON.stringify(model.requests[1]?.messages), /Has sales/)
})

test('a list of many tools is short', () => {
  const findable = Array.from({ length: 400 }, (_, n) => fakeTool(`e${n % 100}__${'x'.repeat(50)}${n}`))
  const { tools } = offerTools({ tools: () => findable, findable, filters: [], question: '', search })
  assert.ok(tools()[0]!.description.length < 800, String(tools()[0]!.description.length))
})
