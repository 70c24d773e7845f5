import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '../../../../errors.ts'
import { toFailedEnd } from '../../../../runs/log/outcome.ts'
import { wholeRun, type RunPart } from '../../../../runs/parts.ts'
import type { LoggedEvent } from '../../../../runs/run.ts'
import { approval, clientCall, end, file, interrupt, project, recorded, stepEnd, stepStart, text } from '../../events-fixture.ts'
import { responseEventsOf, streamResponse, type ResponseEvent } from './projection.ts'
import { endedResponse, toResponse, type ResponseHead } from './response.ts'

const fault = toFailedEnd(new ServiceError('overloaded', 'The service is stopping.'))

function headOf(part: RunPart = wholeRun, number = 1): ResponseHead {
  return { key: { requestId: 'r', part: number }, part, created: 1, fields: { reasoning: { summary: 'auto' } } } as unknown as ResponseHead
}

const optionsOf = (startingAfter = -1) => ({ hasSchema: false, startingAfter })

function eventsOf(name: keyof typeof recorded): ResponseEvent[] {
  return project(responseEventsOf(headOf(), optionsOf()), recorded[name], name === 'files' ? [file] : [])
}

/** The events as `<type> <piece of text>`, without `response.`. */
const namesOf = (events: readonly ResponseEvent[]) =>
  events.map(({ type, delta }) => `${type.replace('response.', '')}${delta === undefined ? '' : ` ${delta}`}`)

interface Shown {
  status: string
  output: { type: string; phase?: string; call_id?: string; content?: { text: string; annotations: { type: string }[] }[] }[]
  usage: { input_tokens: number }
}
const responseIn = (events: readonly ResponseEvent[]) => (events.at(-1)!.fields as { response: Shown }).response

test('text is a message whose events are numbered from 0', () => {
  const events = eventsOf('text')
  assert.deepEqual(namesOf(events), [
    'created',
    'in_progress',
    'output_item.added',
    'content_part.added',
    'output_text.delta Hel',
    'output_text.delta lo.',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'completed',
  ])
  assert.deepEqual(
    events.map((event) => event.sequence_number),
    [...events.keys()],
  )
})

test('thoughts are items, and segments in front of the answer are commentary', () => {
  assert.deepEqual(
    responseIn(eventsOf('reasoning')).output.map(({ type }) => type),
    ['reasoning', 'message'],
  )
  for (const name of ['tools in parallel', 'retry'] as const)
    assert.deepEqual(
      responseIn(eventsOf(name)).output.map(({ phase }) => phase),
      ['commentary', 'final_answer'],
    )
})

test('calls that wait end the response: incomplete for an approval, completed for calls of the client', () => {
  const waiting = eventsOf('approval')
  assert.deepEqual([waiting.at(-1)!.type, responseIn(waiting).status], ['response.incomplete', 'incomplete'])
  const calling = eventsOf('client tools')
  assert.deepEqual(
    [calling.at(-1)!.type, responseIn(calling).output.map(({ type, call_id }) => [type, call_id])],
    [
      'response.completed',
      [
        ['message', undefined],
        ['function_call', 'call_c2'],
      ],
    ],
  )
})

test('a failed or cancelled run ends with response.failed', () => {
  for (const [name, status] of [
    ['failure', 'failed'],
    ['cancel', 'cancelled'],
  ] as const)
    assert.deepEqual([eventsOf(name).at(-1)!.type, responseIn(eventsOf(name)).status], ['response.failed', status])
})

test('files are links behind the text, and sources are annotations', () => {
  assert.equal(responseIn(eventsOf('files')).output[0]!.content![0]!.text, 'Done.\n\n- [a.csv](http://s/f1)')
  const [message] = responseIn(eventsOf('sources')).output
  assert.deepEqual(
    message!.content![0]!.annotations.map(({ type }) => type),
    ['url_citation', 'file_citation'],
  )
})

test('a later part begins with its own numbers and tokens, and with the ids behind those of the part before', () => {
  const before: LoggedEvent[] = [text('Where?'), interrupt(clientCall)]
  const head = headOf({ before, open: [] }, 2)
  const rest = [stepStart('c2', 'get_place'), stepEnd('c2', 'get_place'), text('Rome.'), end()]
  const events = project(responseEventsOf(head, optionsOf()), rest, [], 3)
  const added = events.find(({ type }) => type === 'response.output_item.added')!.fields as { item: { id: string } }
  assert.deepEqual([namesOf(events).slice(0, 2), added.item.id], [['created', 'in_progress'], 'msg_r_2'])
  assert.equal(responseIn(events).usage.input_tokens, 4)
  const whole = toResponse(head, [...before, ...rest], { hasSchema: false }) as Shown
  assert.deepEqual(whole, responseIn(events))
})

test('a part whose calls wait for another person ends with these calls', () => {
  const before: LoggedEvent[] = [text('Where?'), interrupt(clientCall, approval)]
  const head = headOf({ before, open: [approval] }, 2)
  const events = project(responseEventsOf(head, optionsOf()), before.slice(1), [], 2)
  assert.deepEqual([events.at(-1)!.type, responseIn(events).output.length], ['response.incomplete', 1])
  const stored = toResponse(head, before, { hasSchema: false }) as Shown
  assert.deepEqual([stored.status, stored.output], ['incomplete', responseIn(events).output])
})

/** The numbers and types of the events that a reader gets before the reading fails. */
function renderFault(events: LoggedEvent[], startingAfter: number, head = headOf()): [number, string][] {
  const stream = streamResponse(head, optionsOf(startingAfter))
  const sent = stream.opening + events.map((event, index) => stream.take(event, index + 1)).join('') + stream.fault(fault, events.length)
  return [...sent.matchAll(/data: (.*)\n/g)].map(([, data]) => {
    const { sequence_number: number, type } = JSON.parse(data!)
    return [number, type]
  })
}

test('a failure of reading has the sequence number of the last event that the reader has received', () => {
  const all = renderFault([text('a'), text('b')], -1)
  const [last, failed] = all.slice(-2)
  assert.deepEqual(failed, [last![0], 'response.failed'])
  assert.equal(last![1], 'response.output_text.delta')
  const resumed = renderFault([text('a'), text('b'), text('c')], failed[0])
  assert.deepEqual(resumed, [
    [failed[0] + 1, 'response.output_text.delta'],
    [failed[0] + 1, 'response.failed'],
  ])
  assert.deepEqual(renderFault([text('a')], 40), [[40, 'response.failed']])
})

test('a later part whose run cannot be read begins, then fails with the number of its beginning', () => {
  assert.deepEqual(renderFault([], -1, headOf({ before: [interrupt(clientCall)], open: [] }, 2)), [
    [0, 'response.created'],
    [0, 'response.failed'],
  ])
})

test('a reader of a lost attempt without a checkpoint gets all events after the beginning again, and none of the beginning', () => {
  const first = (startingAfter: number) => {
    const stream = streamResponse(headOf(), { hasSchema: false, startingAfter, isReplay: true, log: { restoredAt: 0 } })
    return /^event: (\S+)\ndata: .*?"sequence_number":(\d+),/.exec(stream.take(text('a'), 1))?.slice(1)
  }
  assert.deepEqual(first(0), ['response.in_progress', '1'])
  for (const startingAfter of [1, 2, 40]) assert.deepEqual(first(startingAfter), ['response.output_item.added', '2'])
})

test('a reader of a lost attempt of a later part gets its events again, also where an earlier part had lost its process', () => {
  const head = headOf({ before: [interrupt(clientCall)], open: [] }, 2)
  const numbers = (restoredAt: number) => {
    const stream = streamResponse(head, { hasSchema: false, startingAfter: 5, isReplay: true, log: { restoredAt } })
    return [...stream.take(text('a'), 2).matchAll(/"sequence_number":(\d+),/g)].map(([, number]) => number)
  }
  for (const restoredAt of [0, 1]) assert.equal(numbers(restoredAt)[0], '2')
  assert.deepEqual(numbers(2), [])
})

test('each reader gets the stored time of the end, however late it reads; an event of an earlier version has the time of its run', () => {
  const completedAt = (options: Parameters<typeof endedResponse>[2]) =>
    (endedResponse(headOf(), [], options) as { completed_at: unknown }).completed_at
  const { at: _, ...earlier } = end()
  assert.deepEqual([completedAt({ end: end() }), completedAt({ end: end(), endedAt: 9000 })], [5, 5])
  assert.equal(completedAt({ end: earlier, endedAt: 2_400_000 }), 2400)
})
