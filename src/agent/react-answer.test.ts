import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { ModelEvent } from './model.ts'
import { eventsOf, fakeTool, optionsOf, story } from './react-fixture.ts'
import { call, say, ScriptedModel, type ScriptedReply } from './scripted-model.ts'

const text = (piece: string): ModelEvent => ({ type: 'text', text: piece })
const thought = (piece: string): ModelEvent => ({ type: 'reasoning', text: piece })
const retrying: ModelEvent = { type: 'retrying' }

/** A reply whose events are given; its text is what stays valid of them. */
function reply(events: ModelEvent[], ...toolCalls: ReturnType<typeof call>[]): ScriptedReply {
  const valid = events.slice(events.findLastIndex((event) => event.type === 'retrying') + 1)
  return { events, reply: { text: valid.map((event) => (event.type === 'text' ? event.text : '')).join(''), toolCalls } }
}

async function told(...script: ScriptedReply[]): Promise<string[]> {
  return story(await eventsOf(optionsOf(new ScriptedModel(...script), { tools: [fakeTool('look')] })))
}

const looked = ['c1 starts: look {}', 'c1 result: ok', 'c1 ends: success']

test('reasoning before the answer is published as it arrives', async () => {
  assert.deepEqual(await told(reply([thought('Hm'), thought('. '), text('Yes.')])), [
    'reasoning: Hm',
    'reasoning: . ',
    'answer: Yes.',
    'turn',
    'end: stop',
  ])
})

test('reasoning within the answer is held back, and the answer is repeated behind it', async () => {
  assert.deepEqual(await told(reply([text('Yes'), thought('Sure?'), text(', it is.')])), [
    'answer: Yes',
    'answer: , it is.',
    'reasoning: Sure?',
    'turn',
    'answer: Yes, it is.',
    'end: stop',
  ])
})

test('reasoning behind text before a tool call is published before the turn ends, and the text is not repeated', async () => {
  assert.deepEqual(await told(reply([text('Wait.'), thought('I look.')], call('look', {})), reply([text('Seen.')])), [
    'answer: Wait.',
    'reasoning: I look.',
    'turn',
    ...looked,
    'answer: Seen.',
    'turn',
    'end: stop',
  ])
})

test('the reasoning of a model is stored with its message', async () => {
  const options = optionsOf(new ScriptedModel(reply([thought('Hm.'), text('Yes.')])))
  await eventsOf(options)
  assert.deepEqual(options.messages.at(-1), { role: 'assistant', text: 'Yes.', toolCalls: [], reasoning: 'Hm.' })
})

test('a run that ends without text behind its tools repeats its best answer', async () => {
  assert.deepEqual(await told(reply([text('It is 5.')], call('look', {})), reply([])), [
    'answer: It is 5.',
    'turn',
    ...looked,
    'turn',
    'answer: It is 5.',
    'end: stop',
  ])
})

test('a broken stream begins anew, and reasoning held back from it is void', async () => {
  assert.deepEqual(await told(reply([text('Ha'), thought('void'), retrying, text('Half.')])), [
    'answer: Ha',
    'retrying',
    'answer: Half.',
    'turn',
    'end: stop',
  ])
})

test('text voided by a retry is no answer', async () => {
  assert.deepEqual(await told(reply([text('Void.'), retrying])), ['answer: Void.', 'retrying', 'turn', 'end: stop'])
  assert.deepEqual(await told(reply([text('First.')], call('look', {})), reply([text('Void.'), retrying])), [
    'answer: First.',
    'turn',
    ...looked,
    'answer: Void.',
    'retrying',
    'turn',
    'answer: First.',
    'end: stop',
  ])
})

test('an empty piece of text is no answer', async () => {
  const events = await told(reply([text('First.')], call('look', {})), reply([text('')]))
  assert.deepEqual(events.slice(-2), ['answer: First.', 'end: stop'])
})

test('a run that says nothing at all ends without text', async () => {
  assert.deepEqual(await told(say('')), ['turn', 'end: stop'])
})
