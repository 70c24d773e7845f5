import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { ModelEvent } from '../../agent/model.ts'
import { eventsOf, fakeTool, optionsOf, type StoryEvent } from '../../agent/react-fixture.ts'
import { call, ScriptedModel, type ScriptedReply } from '../../agent/scripted-model.ts'
import { outputOf } from './outcome.ts'
import type { LoggedEvent } from '../run.ts'

type Random = () => number

/** Deterministic random numbers from 0 to 1 for a seed (mulberry32). */
function randomOf(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

const upTo = (random: Random, n: number) => Math.floor(random() * n)

function eventOf(random: Random, name: string): ModelEvent {
  const kind = upTo(random, 8)
  if (kind === 0) return { type: 'retrying' }
  return { type: kind < 4 ? 'reasoning' : 'text', text: kind === 4 ? '' : name }
}

function replyOf(random: Random, turn: number, isLast: boolean): ScriptedReply {
  const events = Array.from({ length: upTo(random, 7) }, (_, at) => eventOf(random, `${turn}.${at} `))
  const valid = events.slice(events.findLastIndex((event) => event.type === 'retrying') + 1)
  const textOf = (type: string) => valid.map((event) => ('text' in event && event.type === type ? event.text : '')).join('')
  const toolCalls = isLast ? [] : Array.from({ length: 1 + upTo(random, 3) }, () => call(random() < 0.5 ? 'look' : 'write', {}))
  return { events, reply: { text: textOf('text'), reasoning: textOf('reasoning'), toolCalls } }
}

function scriptOf(random: Random): ScriptedReply[] {
  const turns = 1 + upTo(random, 4)
  return Array.from({ length: turns }, (_, turn) => replyOf(random, turn, turn === turns - 1))
}

function visible(events: readonly StoryEvent[]): LoggedEvent[] {
  return events.flatMap((event): LoggedEvent[] => {
    switch (event.type) {
      case 'text':
      case 'retrying':
      case 'step_start':
      case 'step_end':
        return [event]
      case 'end':
        return [{ ...event, usage: [], thoughts: [] }]
      default:
        return []
    }
  })
}

/** The last answer text that was not revoked, as a reader collects the text until the run was stopped. */
function lastAnswer(events: readonly StoryEvent[]): string {
  let best = ''
  let current = ''
  for (const event of events) {
    if (event.type === 'text' && event.label === 'answer') current += event.text
    else if (event.type === 'retrying') current = ''
    else if (event.type === 'turn') {
      best = current || best
      current = ''
    }
  }
  return current || best
}

const tools = [fakeTool('look'), fakeTool('write', { effect: 'write' })]

test('the output is the text of the last message with text, for any behaviour of the model', async () => {
  for (let seed = 1; seed <= 300; seed++) {
    const script = scriptOf(randomOf(seed))
    const expected = script.findLast(({ reply }) => reply?.text !== '')?.reply?.text ?? ''
    const events = await eventsOf(optionsOf(new ScriptedModel(...script), { tools }))
    assert.equal(outputOf(visible(events)), expected, `seed ${seed}`)
    assert.equal(events.filter((event) => event.type === 'end').length, 1)
  }
})

test('the output of a run stopped at any point is the best answer until then', async () => {
  let stopped = 0
  for (let seed = 1; seed <= 300; seed++) {
    const random = randomOf(seed)
    const script = scriptOf(random)
    const controller = new AbortController()
    const before: StoryEvent[] = []
    let remaining = upTo(random, 20)
    const options = optionsOf(new ScriptedModel(...script), { tools, signal: controller.signal, stopReason: () => 'timeout' })
    const events = await eventsOf(options, (event) => {
      if (controller.signal.aborted) return
      before.push(event)
      if (remaining-- === 0) controller.abort()
    })
    // An ended run cannot be stopped; the test above covers such runs.
    if (events.at(-1)?.type === 'end' && events.some((event) => event.type === 'end' && event.reason === 'stop')) continue
    assert.equal(outputOf(visible(events)), lastAnswer(before), `seed ${seed}`)
    stopped++
  }
  assert.ok(stopped > 150)
})
