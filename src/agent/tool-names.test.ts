import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventsOf, fakeTool, optionsOf } from './react-fixture.ts'
import { call, say, ScriptedModel } from './scripted-model.ts'
import { findTool, fitName, nameTools } from './tool-names.ts'

const namesOf = (...names: string[]) => [...nameTools(names.map((name) => fakeTool(name))).keys()]

test('an accepted name stays; in others each invalid character is replaced, and the first is no digit', () => {
  assert.deepEqual(namesOf('read_file', 'sales.eu', 'sub_agent:Référence-1', 'x'.repeat(70), '3d.view', '-v'), [
    'read_file',
    'sales_eu',
    'sub_agent_Reference-1',
    'x'.repeat(64),
    't_3d_view',
    't_-v',
  ])
})

test('names are unique: a tool with an accepted name keeps it, at any position', () => {
  assert.deepEqual(namesOf('a.b', 'a:b', 'a_b', '調査', '分析', 'a_b'), ['a_b_2', 'a_b_3', 'a_b', '__', '___2', 'a_b_4'])
  const long = 'y'.repeat(64)
  assert.deepEqual(namesOf(long, `${long}.1`), [long, `${'y'.repeat(62)}_2`])
  for (const name of namesOf(...Array.from({ length: 12 }, (_, at) => `${long}.${at}`))) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/)
})

test('a tool is found by its name for the model, and by its own name', () => {
  const named = nameTools([fakeTool('a.b'), fakeTool('a_b')])
  assert.deepEqual(
    ['a_b', 'a_b_2', 'a.b', 'nothing'].map((name) => findTool(named, name)?.name),
    ['a_b', 'a.b', 'a.b', undefined],
  )
  assert.equal(fitName(''), '_')
})

test('the model gets accepted names, steps show the real ones, and an invented name is made acceptable', async () => {
  const model = new ScriptedModel(say('', call('sales_eu', {}), call('no such tool!', {})), say('Done.'))
  const events = await eventsOf(optionsOf(model, { tools: [fakeTool('sales.eu')] }))
  assert.deepEqual(
    model.requests[0]?.tools.map((tool) => tool.name),
    ['sales_eu'],
  )
  const steps = events.flatMap((event) => (event.type === 'step_end' ? [`${event.step.tool} ${event.step.status}`] : []))
  assert.deepEqual(steps.toSorted(), ['no_such_tool_ error', 'sales.eu success'])
  const told = model.requests[1]?.messages.slice(1) ?? []
  assert.deepEqual(
    told.map((message) =>
      message.role === 'assistant' ? message.toolCalls.map((one) => one.name) : message.role === 'tool' && message.name,
    ),
    [['sales_eu', 'no_such_tool_'], 'sales_eu', 'no_such_tool_'],
  )
  assert.match(told[2]!.text, /There is no tool no_such_tool_. The tools are: sales_eu\./)
})
