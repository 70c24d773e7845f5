import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BudgetSpent } from './meter.ts'
import type { AssistantMessage, Message, UserMessage } from './messages.ts'
import { positionIn, planExecute } from './plan.ts'
import { eventsOf, fakeTool, optionsOf, story, type Traits, type StoryEvent } from './react-fixture.ts'
import { call, fail, say, ScriptedModel, type ScriptedReply } from './scripted-model.ts'

const plan = (...steps: string[]) => say(JSON.stringify(steps))

/** The story with instructions by what they tell to do. */
function shortStory(events: readonly StoryEvent[]): string[] {
  return story(events).map((line, at) => {
    const event = events[at]!
    return event.type === 'instruction' ? `told: ${event.message.instruction}` : line
  })
}

async function run(script: ScriptedReply[], traits: Traits = {}, onEvent?: (event: StoryEvent) => void) {
  const model = new ScriptedModel(...script)
  const options = optionsOf(model, { tools: [fakeTool('look')], ...traits })
  const events = await eventsOf(options, onEvent, planExecute)
  return { events, lines: shortStory(events), model, options }
}

const twoSteps = [
  plan('Look up A.', 'Look up B.'),
  say('', call('look', { at: 'A' })),
  say('A is 1.'),
  say('B is 2.'),
  say(['A is 1, ', 'B is 2.']),
]

test('a plan is made, done step by step, and answered from the results', async () => {
  const { lines, model, events } = await run(twoSteps)
  assert.deepEqual(lines, [
    'told: plan',
    'c1 starts: plan {}',
    'turn',
    'planning: 1. Look up A.\n2. Look up B.\n',
    'c1 ends: success',
    'planning: \nStep 1 of 2: Look up A.\n',
    'told: step',
    'turn',
    'c2 starts: look {"at":"A"}',
    'c2 result: ok',
    'c2 ends: success',
    'planning: A is 1.',
    'turn',
    'planning: \nStep 2 of 2: Look up B.\n',
    'told: step',
    'planning: B is 2.',
    'turn',
    'told: answer',
    'answer: A is 1, ',
    'answer: B is 2.',
    'turn',
    'end: stop',
  ])
  assert.deepEqual(
    model.requests.map((request) => request.tools.length),
    [0, 1, 1, 1, 0],
  )
  const [first] = model.requests
  assert.match(first!.messages.at(-1)!.text, /JSON list[\s\S]*- look: Does look\./)
  const made = events.find((event) => event.type === 'step_end')
  assert.deepEqual(made?.type === 'step_end' && { type: made.step.type, output: made.step.output }, {
    type: 'planning',
    output: ['Look up A.', 'Look up B.'],
  })
})

test('a plan of one step is done as in ReAct: its text is the answer', async () => {
  const { lines } = await run([plan('Look.'), say('Hm.', call('look', {})), say('It is 1.')])
  assert.deepEqual(lines.slice(5), [
    'told: answer',
    'answer: Hm.',
    'turn',
    'c2 starts: look {}',
    'c2 result: ok',
    'c2 ends: success',
    'answer: It is 1.',
    'turn',
    'end: stop',
  ])
})

test('a model that does not plan does the request in one step', async () => {
  const { lines } = await run([say('I would rather not plan.'), say('It is 1.')])
  assert.deepEqual(lines, [
    'told: plan',
    'c1 starts: plan {}',
    'turn',
    'planning: 1. Do what was asked.\n',
    'c1 ends: success',
    'told: answer',
    'answer: It is 1.',
    'turn',
    'end: stop',
  ])
})

test('a reported failure changes the plan; finished steps stay finished', async () => {
  const { lines, events, model } = await run([
    plan('A.', 'B.', 'C.'),
    say('a'),
    say('FAILED: there is no B.'),
    plan('B otherwise.'),
    say('b'),
    say('a and b'),
  ])
  assert.deepEqual(lines.slice(5), [
    'planning: \nStep 1 of 3: A.\n',
    'told: step',
    'planning: a',
    'turn',
    'planning: \nStep 2 of 3: B.\n',
    'told: step',
    'planning: FAILED: there is no B.',
    'turn',
    'told: change',
    'c2 starts: change {"failed":"B.","why":"FAILED: there is no B."}',
    'turn',
    'planning: 1. B otherwise.\n',
    'c2 ends: success',
    'planning: \nStep 3 of 3: B otherwise.\n',
    'told: step',
    'planning: b',
    'turn',
    'told: answer',
    'answer: a and b',
    'turn',
    'end: stop',
  ])
  assert.match(model.requests[3]!.messages.at(-1)!.text, /were: \["C\."\]/)
  assert.equal(events.filter((event) => event.type === 'step_end' && event.step.type === 'planning').length, 2)
})

test('a step fails when all of its tool calls failed, but not when one succeeded', async () => {
  const broken = fakeTool('broken', { execute: async () => Promise.reject(new Error('No.')) })
  const { lines } = await run(
    [
      plan('A.', 'B.'),
      say('', call('broken', {})),
      say('Could not.'),
      plan('A2.'),
      say('', call('broken', {}), call('look', {})),
      say('a'),
      say('Done.'),
    ],
    { tools: [broken, fakeTool('look')] },
  )
  assert.deepEqual(
    lines.filter((line) => line.startsWith('told')),
    ['told: plan', 'told: step', 'told: change', 'told: step', 'told: answer'],
  )
})

test('a plan is changed at most three times, then the run answers with its results', async () => {
  const failing = (n: number) => [plan(`Try ${n}.`, 'More.'), say('FAILED: no.')]
  const { lines } = await run([...failing(1), ...failing(2), ...failing(3), ...failing(4), say('It can not be done.')])
  assert.deepEqual(lines.slice(-3), ['answer: It can not be done.', 'turn', 'end: stop'])
  assert.equal(lines.filter((line) => line === 'told: change').length, 3)
})

test('an empty change means that nothing is left to be done', async () => {
  const { lines } = await run([plan('A.', 'B.'), say('FAILED: no.'), say('Nothing helps: []'), say('Sorry.')])
  assert.deepEqual(lines.slice(-6), [
    'planning: Nothing is left to be done.\n',
    'c2 ends: success',
    'told: answer',
    'answer: Sorry.',
    'turn',
    'end: stop',
  ])
})

test('all model calls count: the last one is reserved for the answer, without tools', async () => {
  const { lines, model } = await run([plan('A.', 'B.'), say('a'), say('', call('look', {})), say('a, and B is open.')], {
    maxIterations: 4,
  })
  assert.deepEqual(lines.slice(-8), [
    'turn',
    'c2 starts: look {}',
    'c2 result: ok',
    'c2 ends: success',
    'told: answer',
    'answer: a, and B is open.',
    'turn',
    'end: max_iterations',
  ])
  assert.deepEqual(model.requests.at(-1)?.tools, [])
})

test('with one model call there is no plan', async () => {
  const { lines } = await run([say('At once.')], { maxIterations: 1 })
  assert.deepEqual(lines, ['told: answer', 'answer: At once.', 'turn', 'end: max_iterations'])
})

test('a run that is stopped between its steps answers with their results', async () => {
  const controller = new AbortController()
  const { lines } = await run(twoSteps, { signal: controller.signal, stopReason: () => 'timeout' }, (event) => {
    if (event.type === 'text' && event.text.includes('Step 2')) controller.abort()
  })
  assert.deepEqual(lines.slice(-3), ['told: step', 'answer: A is 1.', 'end: timeout'])
})

test('a run stopped within its answer keeps the text so far', async () => {
  const controller = new AbortController()
  const { lines } = await run(twoSteps, { signal: controller.signal }, (event) => {
    if (event.type === 'text' && event.label === 'answer') controller.abort()
  })
  assert.deepEqual(lines.slice(-2), ['answer: A is 1, ', 'end: cancelled'])
})

test('a model that fails for good throws', async () => {
  await assert.rejects(run([plan('A.', 'B.'), fail()]), /scripted-1 is down/)
})

test('a repeated attempt at a plan publishes no retry', async () => {
  const { lines } = await run([
    { events: [{ type: 'text', text: '["A' }, { type: 'retrying' }, { type: 'text', text: '["A."]' }], reply: { text: '["A."]' } },
    say('a'),
  ])
  assert.deepEqual(lines.slice(2, 5), ['turn', 'planning: 1. A.\n', 'c1 ends: success'])
})

test('a run resumes from every position without repeating finished work', async () => {
  const whole = [
    plan('A.', 'B.'),
    say('', call('look', { at: 'A' })),
    say('FAILED: no A.'),
    plan('C.', 'D.'),
    say('c'),
    say('', call('look', {})),
    say('d'),
    say('c and d'),
  ]
  const { options, lines } = await run(whole)
  const all = options.messages
  const ends = lines.slice(-3)
  for (let length = 1; length <= all.length; length++) {
    const messages = structuredClone(all.slice(0, length))
    const made = messages.filter((message) => message.role === 'assistant').length
    const { lines: rest, options: resumed, model } = await run(whole.slice(made), { messages, iterations: made })
    model.assertComplete()
    assert.deepEqual(rest.slice(-1), ends.slice(-1), `from ${length}`)
    assert.deepEqual(
      resumed.messages.map((message) => message.text),
      all.map((message) => message.text),
      `from ${length}`,
    )
    assert.equal(rest.filter((line) => line.startsWith('answer: ')).length, 1, `from ${length}`)
  }
})

test('a plan for which a budget cannot pay is a step that has failed, whether the run waits or ends', async () => {
  for (const onExceeded of ['pause', 'stop'] as const) {
    const details = { budget: 'day', scope: 'caller' }
    const spent = new BudgetSpent('Budget day is used up.', {
      budget: 'day',
      onExceeded,
      needed: { usd: 0.1 },
      resetsAt: undefined,
      details,
    })
    const { lines, events } = await run([fail(spent), say('It is 1.')])
    assert.deepEqual(lines, [
      'told: plan',
      'c1 starts: plan {}',
      'c1 ends: error',
      ...(onExceeded === 'pause' ? ['interrupt: c2 day'] : ['answer: It is 1.', 'turn', 'end: budget_exceeded']),
    ])
    const end = events.find((event) => event.type === 'step_end')
    assert.deepEqual(end?.type === 'step_end' && end.step.output, { error: 'Budget day is used up.' })
  }
})

test('only messages since the last message of a person belong to the plan', () => {
  const told = (instruction: NonNullable<UserMessage['instruction']>): UserMessage => ({ role: 'user', text: '', instruction })
  const said = (text: string): AssistantMessage => ({ role: 'assistant', text, toolCalls: [] })
  const messages: Message[] = [
    told('plan'),
    said('["old", "older"]'),
    { role: 'user', text: 'Go.' },
    told('plan'),
    said('["A.", "B."]'),
    told('step'),
  ]
  const { plan: made, ended, open, planningTexts: readable } = positionIn(messages)
  assert.deepEqual({ made, ended, open, readable }, { made: ['A.', 'B.'], ended: 0, open: 'step', readable: ['1. A.\n2. B.'] })
})
