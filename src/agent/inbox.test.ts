import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutRepairs } from './history.ts'
import { react } from './loop.ts'
import type { AnswerSchema } from './options.ts'
import { planExecute } from './plan.ts'
import { eventsOf, fakeTool, optionsOf, story, type StoryEvent, type Traits } from './react-fixture.ts'
import { call, say, ScriptedModel, type ScriptedReply } from './scripted-model.ts'

/** A run whose person sends messages. */
async function run(script: ScriptedReply[], traits: Traits = {}, workflow = react) {
  const inbox = { isWaiting: false }
  const waiting: { id: string; text: string; position: number; rank: number }[] = []
  let count = 0
  const send = (text: string): void => {
    waiting.push({ id: `m${++count}`, text, position: count, rank: count })
    inbox.isWaiting = true
  }
  let taken = 0
  const model = new ScriptedModel(...script.map((reply) => ({ ...reply, before: () => senders.get(reply)?.(send) })))
  const options = optionsOf(model, {
    tools: [fakeTool('look')],
    inbox,
    takeMessages: async () => {
      taken++
      inbox.isWaiting = false
      return waiting.splice(0)
    },
    ...traits,
  })
  const events = await eventsOf(options, undefined, workflow)
  model.assertComplete()
  return { lines: shortStory(events), model, left: waiting.map(({ text }) => text), taken, messages: options.messages }
}

const senders = new Map<ScriptedReply, (send: (text: string) => void) => void>()

/** A reply during which messages arrive. */
function during(reply: ScriptedReply, ...texts: string[]): ScriptedReply {
  senders.set(reply, (send) => texts.forEach((text) => send(text)))
  return reply
}

function shortStory(events: readonly StoryEvent[]): string[] {
  return story(events).map((line, at) => {
    const event = events[at]!
    return event.type === 'instruction' ? `told: ${event.message.instruction}` : line
  })
}

const rolesOf = ({ requests }: ScriptedModel, n: number) => requests[n]!.messages.map(({ role, text }) => (role === 'user' ? text : role))

test('a message that arrives with tool calls is read behind their results', async () => {
  const { model, lines } = await run([during(say('', call('look', {}), call('look', {})), 'Hurry.', 'Please.'), say('Done.')])
  assert.deepEqual(rolesOf(model, 1), ['Go.', 'assistant', 'tool', 'tool', 'Hurry.', 'Please.'])
  assert.deepEqual(lines.slice(-5), ['user_message: Hurry.', 'user_message: Please.', 'answer: Done.', 'turn', 'end: stop'])
})

test('an answer that a message has overtaken is followed by another one, which is the output', async () => {
  const { lines, taken } = await run([during(say('First.'), 'Shorter.'), say('Second.')])
  assert.deepEqual(lines, ['answer: First.', 'turn', 'user_message: Shorter.', 'answer: Second.', 'turn', 'end: stop'])
  assert.equal(taken, 1)
})

test('out of model calls, messages get one call more, without tools; later messages are left', async () => {
  const { lines, model, left } = await run([during(say('First.'), 'One.'), during(say('Second.'), 'Two.')], { maxIterations: 1 })
  assert.deepEqual(lines.slice(-3), ['answer: Second.', 'turn', 'end: max_iterations'])
  assert.deepEqual([model.requests[1]!.tools, left], [[], ['Two.']])
})

test('a run that is resumed behind a message answers the message, also out of model calls', async () => {
  const messages: Traits['messages'] = [
    { role: 'user', text: 'Go.' },
    { role: 'assistant', text: 'First.', toolCalls: [] },
    { role: 'user', text: 'Shorter.', steer: { id: 'm1', position: 1, rank: 1 } },
  ]
  const { lines } = await run([say('Second.')], { messages, maxIterations: 1, iterations: 1 })
  assert.deepEqual(lines, ['answer: Second.', 'turn', 'end: max_iterations'])
})

test('a stopped run takes no message', async () => {
  const stop = new AbortController()
  const reply = during(say('', call('look', {})), 'Hurry.')
  const tools = [fakeTool('look', { execute: async () => (stop.abort(), 'ok') })]
  const { left, lines } = await run([reply], { tools, signal: stop.signal })
  assert.deepEqual([left, lines.at(-1)], [['Hurry.'], 'end: cancelled'])
})

test('a message between the steps of a plan changes the open steps, and keeps the results', async () => {
  const script = [
    say('["Look up A.", "Look up B."]'),
    during(say('A is 1.'), 'C instead of B.'),
    say('["Look up C."]'),
    say('C is 3.'),
    say('A is 1, C is 3.'),
  ]
  const { lines, model, messages } = await run(script, {}, planExecute)
  assert.deepEqual(
    lines.filter((line) => /^(told|user_message|end|answer)/.test(line)),
    [
      'told: plan',
      'told: step',
      'user_message: C instead of B.',
      'told: adapt',
      'told: step',
      'told: answer',
      'answer: A is 1, C is 3.',
      'end: stop',
    ],
  )
  assert.match(rolesOf(model, 2).at(-1)!, /The open steps were: \["Look up B\."\]/)
  assert.match(rolesOf(model, 3).at(-1)!, /^Step 2 of 2: Look up C\./)
  assert.ok(messages.some((message) => message.role === 'user' && message.steer))
})

test('a message that overtakes the answer of a plan is planned, too', async () => {
  const script = [
    say('["A.", "B."]'),
    say('1.'),
    say('2.'),
    during(say('1 and 2.'), 'And C?'),
    say('["C."]'),
    say('3.'),
    say('1, 2 and 3.'),
  ]
  const { lines } = await run(script, {}, planExecute)
  assert.deepEqual(
    lines.filter((line) => /^(told|user_message|end)/.test(line)),
    [
      'told: plan',
      'told: step',
      'told: step',
      'told: answer',
      'user_message: And C?',
      'told: adapt',
      'told: step',
      'told: answer',
      'end: stop',
    ],
  )
})

test('an overtaken answer with a schema is replaced by another one that fits', async () => {
  const answerSchema: NonNullable<Traits['answerSchema']> = {
    schema: {},
    maxRepairs: 1,
    faultOf: async (text) => (text.startsWith('"') ? undefined : 'it must be a text'),
  }
  const { lines } = await run([during(say('"a"'), 'Again.'), say('b'), say('"b"')], { answerSchema })
  assert.deepEqual(lines.slice(2), [
    'user_message: Again.',
    'answer: b',
    'turn',
    'retrying',
    'told: repair',
    'answer: "b"',
    'turn',
    'end: stop',
  ])
})

/** Accepts JSON texts alone. */
const answerSchema: AnswerSchema = { schema: {}, maxRepairs: 1, faultOf: async (text) => (text.startsWith('"') ? undefined : 'no text') }

test('a message that arrives in a repair is answered in the same run, whose answer has repairs of its own', async () => {
  const script = [say('bad'), during(say('"one"'), 'Shorter.'), say('bad'), say('"two"')]
  const { lines, model, left, messages } = await run(script, { answerSchema })
  assert.deepEqual(lines, [
    ...['answer: bad', 'turn', 'retrying', 'told: repair', 'answer: "one"', 'turn', 'user_message: Shorter.'],
    ...['answer: bad', 'turn', 'retrying', 'told: repair', 'answer: "two"', 'turn', 'end: stop'],
  ])
  assert.equal(model.requests[2]!.messages.at(-1)!.text, 'Shorter.')
  assert.deepEqual([left, withoutRepairs(messages).map(({ text }) => text)], [[], ['Go.', '"one"', 'Shorter.', '"two"']])
})

test('a message behind the last repair is answered too, and one that arrives out of model calls is left', async () => {
  const script = [say('bad'), during(say('bad'), 'Again.'), during(say('bad'), 'And?'), say('"two"')]
  const { lines, left } = await run(script, { answerSchema, maxIterations: 1 })
  assert.deepEqual(lines.slice(-4), ['told: repair', 'answer: "two"', 'turn', 'end: stop'])
  assert.deepEqual(left, ['And?'])
})
