import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planExecute } from './plan.ts'
import { eventsOf, fakeTool, optionsOf, story, type Traits, type StoryEvent } from './react-fixture.ts'
import { call, say, ScriptedModel, type ScriptedReply } from './scripted-model.ts'

const send = fakeTool('send', { effect: 'write', approval: { by: 'caller' }, execute: async () => 'sent' })

function shortStory(events: readonly StoryEvent[]): string[] {
  return story(events).map((line, at) => {
    const event = events[at]!
    return event.type === 'instruction' ? `told: ${event.message.instruction}` : line
  })
}

async function run(script: ScriptedReply[], traits: Traits = {}) {
  const model = new ScriptedModel(...script)
  const options = optionsOf(model, { tools: [send], ...traits })
  const lines = shortStory(await eventsOf(options, undefined, planExecute))
  model.assertComplete()
  return { lines, options, model }
}

test('a step whose call waited for approval resumes in that step, followed by the rest of the plan', async () => {
  const plan = say('["Send A.", "Send B."]')
  const first = await run([plan, say('Now A.', call('send', { to: 'a' }))])
  assert.deepEqual(first.lines.slice(5), [
    'planning: \nStep 1 of 2: Send A.\n',
    'told: step',
    'planning: Now A.',
    'turn',
    'interrupt: c2 send',
  ])
  const { messages } = first.options
  const second = await run([say('A is sent.'), say('', call('send', { to: 'b' }))], {
    messages,
    iterations: 2,
    decisionFor: (id) => (id === 'c2' ? { decision: 'approve', isStarted: false } : undefined),
    newId: () => 'd1',
  })
  assert.deepEqual(second.lines, [
    'c2 is about to be made',
    'c2 starts: send {"to":"a"}',
    'c2 result: sent',
    'c2 ends: success',
    'planning: A is sent.',
    'turn',
    'planning: \nStep 2 of 2: Send B.\n',
    'told: step',
    'turn',
    'interrupt: d1 send',
  ])
  const third = await run([say('FAILED: not allowed.'), say('[]'), say('A is sent, B is not.')], {
    messages,
    iterations: 4,
    decisionFor: () => ({ decision: 'reject', reason: 'Not B.' }),
    newId: () => 'e1',
  })
  assert.match(third.lines[1]!, /^d1 result \(error\): The call was rejected by a person: Not B\./)
  assert.deepEqual(third.lines.slice(3), [
    'planning: FAILED: not allowed.',
    'turn',
    'told: change',
    'e1 starts: change {"failed":"Send B.","why":"FAILED: not allowed."}',
    'turn',
    'planning: Nothing is left to be done.\n',
    'e1 ends: success',
    'told: answer',
    'answer: A is sent, B is not.',
    'turn',
    'end: stop',
  ])
})

test('a call of the closing answer waits for approval, and the answer is given behind it', async () => {
  const first = await run([say('["Send it."]'), say('I send it.', call('send', {}))])
  assert.deepEqual(first.lines.slice(5), ['told: answer', 'answer: I send it.', 'turn', 'interrupt: c2 send'])
  const next = await run([say('It is sent.')], {
    messages: first.options.messages,
    iterations: 2,
    decisionFor: () => ({ decision: 'approve', isStarted: false }),
  })
  assert.deepEqual(next.lines, [
    'c2 is about to be made',
    'c2 starts: send {}',
    'c2 result: sent',
    'c2 ends: success',
    'answer: It is sent.',
    'turn',
    'end: stop',
  ])
})
