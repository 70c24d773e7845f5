import type { PendingCall } from '../../agent/approval.ts'
import type { Step, StepStart, TextLabel } from '../../agent/events.ts'
import type { AnswerFile } from '../../artifacts/answer-files.ts'
import { ServiceError } from '../../errors.ts'
import { toFailedEnd } from '../../runs/log/outcome.ts'
import type { EndEvent, InterruptEvent, LoggedEvent } from '../../runs/run.ts'
import { isLastEvent } from '../../runs/log/event-log.ts'
import type { Projection } from '../send-run.ts'

/** Events as runs record them, for tests of projections. */

const usageOf = (input: number, output: number): EndEvent['usage'] => [
  { unit: 'tokens', usage: input + output, costAttribute: 'm', details: { input, output, cached_input: 1, reasoning: 2 } },
]

export const text = (piece: string, label: TextLabel = 'answer'): LoggedEvent => ({ type: 'text', label, text: piece })
export const thought = (piece: string): LoggedEvent => ({ type: 'text', label: 'reasoning', text: piece })

const start = (id: string, tool: string): StepStart => ({ id, type: 'tool_call', tool, input: { q: id }, startedAt: 1000 })
const ended = (id: string, tool: string): Step => ({
  ...start(id, tool),
  log: '',
  output: `${tool} done`,
  status: 'success',
  durationMs: 20,
})
export const stepStart = (id: string, tool: string): LoggedEvent => ({ type: 'step_start', step: start(id, tool) })
export const stepEnd = (id: string, tool: string, more: Partial<Step> = {}): LoggedEvent => {
  return { type: 'step_end', step: { ...ended(id, tool), ...more } }
}

export const userMessage: LoggedEvent = { type: 'user_message', id: 'm1', position: 1, rank: 1, text: 'Shorter.', at: 2000 }

export const end = (more: Partial<EndEvent> = {}): EndEvent => ({
  type: 'end',
  at: 5000,
  reason: 'stop',
  usage: usageOf(10, 4),
  thoughts: [],
  ...more,
})

export const approval = { callId: 'c1', tool: 'send', input: { to: 'Bob' }, by: 'caller' as const }
export const clientCall = { callId: 'c2', tool: 'get_place', input: {}, by: 'client' as const }
export const interrupt = (...calls: InterruptEvent['calls']): InterruptEvent => ({
  type: 'interrupt',
  calls,
  usage: usageOf(6, 2),
  thoughts: [],
})

/** A call that waits for its caller, for another person, or for the client. */
export const waiting = (callId: string, by: PendingCall['by']): PendingCall => ({ callId, tool: 'send', input: { to: 'Bob' }, by })

export const failed = toFailedEnd(new ServiceError('model_unavailable', 'The model is gone.'))

export const file: AnswerFile = {
  artifact_id: 'f1',
  file_name: 'a.csv',
  file_type: 'text/csv',
  download_url: 'http://s/f1',
} as AnswerFile

export const picture: AnswerFile = { ...file, artifact_id: 'f2', file_name: 'a.png', file_type: 'image/png', download_url: 'http://s/f2' }

/** A file for a key that may not read files. */
export const unlinked: AnswerFile = { ...file, artifact_id: 'f3' }
delete unlinked.download_url

/** A web page and a document that an answer of at least four characters rests on. */
const passage = { heading: 'Leave', start: 0, end: 4, text: '25 d', answerStart: 0, answerEnd: 4 }
const sources: EndEvent['citations'] = [
  { ...passage, tool: 'web_search', file: 'Rules', url: 'https://a.example/rules', title: 'Rules' },
  { ...passage, tool: 'documents', file: 'rules.md' },
]

/** Runs that differ in what their events are. */
export const recorded = {
  text: [text('Hel'), text('lo.'), end()],
  reasoning: [thought('Hm.'), text('Yes.'), end()],
  'tools in parallel': [
    text('Let me see.'),
    stepStart('s1', 'look'),
    stepStart('s2', 'count'),
    stepEnd('s2', 'count'),
    stepEnd('s1', 'look'),
    text('Two.'),
    end(),
  ],
  retry: [text('Hel'), { type: 'retrying' }, text('Hello.'), end()],
  approval: [text('I ask.'), interrupt(approval)],
  'the rest of an approval': [stepStart('c1', 'send'), stepEnd('c1', 'send'), text('Done.'), end()],
  'client tools': [text('Where?'), interrupt(clientCall)],
  failure: [text('Hel'), failed],
  cancel: [text('Hel'), end({ reason: 'cancelled' })],
  files: [text('Done.'), end()],
  sources: [text('25 days.'), end({ citations: sources })],
} as const satisfies Record<string, readonly LoggedEvent[]>

/** The objects of a projection for the events of a run. `first`: number of the first event. */
export function project<T>(projection: Projection<T>, events: readonly LoggedEvent[], files: readonly AnswerFile[] = [], first = 1): T[] {
  return [
    ...(projection.opening ?? []),
    ...events.flatMap((event, index) => {
      const isLast = index === events.length - 1 && isLastEvent(event)
      return isLast ? projection.last(event, first + index, files) : projection.take(event, first + index)
    }),
  ]
}
