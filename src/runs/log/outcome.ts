import type { Step } from '../../agent/events.ts'
import { ServiceError, toErrorBody, type ErrorBody } from '../../errors.ts'
import type { AnswerStep, UsageEntry } from '../../sessions/message.ts'
import { isLastEvent, type EndEvent, type LastEvent, type LoggedEvent } from '../run.ts'

/** The answer of a run, collected from its events: the `body` of a chain response. */
export interface Answer {
  input: string
  output: string
  intermediate_steps: AnswerStep[]
  usage: UsageEntry[]
}

export interface Outcome {
  /** Of a run that waits for approval: so far. */
  answer: Answer
  end: LastEvent
}

/** The end of a run that was to go on, but did not get its session: of its log nothing is left. */
export const gaveUpWaiting: EndEvent = {
  type: 'end',
  reason: 'error',
  usage: [],
  thoughts: [],
  error: toErrorBody(new ServiceError('session_busy', 'The run failed, and did not get its session to go on. It can be repeated.')),
}

/** Collects a log that has ended, or stands still. */
export function collect(input: string, events: readonly LoggedEvent[]): Outcome {
  const end = events.at(-1)
  if (!isLastEvent(end)) throw new Error('A run is collected when it has ended.')
  return { answer: { input, output: outputOf(events), intermediate_steps: stepsOf(events, end).map(toAnswerStep), usage: end.usage }, end }
}

/** By definition: the `answer` text behind the last event with another label. The `end` counts as `answer`, and so does an `interrupt`. */
export function outputOf(events: readonly LoggedEvent[]): string {
  const from = events.findLastIndex((event) => !belongsToAnswer(event)) + 1
  let output = ''
  for (let at = from; at < events.length; at++) {
    const event = events[at]!
    if (event.type === 'text') output += event.text
  }
  return output
}

function belongsToAnswer(event: LoggedEvent): boolean {
  switch (event.type) {
    case 'text':
      return event.label === 'answer'
    case 'interrupt':
    case 'end':
      return true
    case 'retrying':
    case 'step_start':
    case 'step_end':
      return false
  }
}

function stepsOf(events: readonly LoggedEvent[], end: LastEvent): Step[] {
  return inOrder([...end.thoughts, ...events.flatMap((event) => (event.type === 'step_end' ? [event.step] : []))])
}

/** Steps in order of start. Of what started in the same millisecond a plan stands before the thought behind it, and that before its calls. */
export function inOrder(steps: readonly Step[]): Step[] {
  const rank = ({ type }: Step) => (type === 'planning' ? 0 : type === 'reasoning' ? 1 : 2)
  return steps.length === 0 ? [] : steps.toSorted((a, b) => a.startedAt - b.startedAt || rank(a) - rank(b))
}

export function toAnswerStep(step: Step): AnswerStep {
  return {
    tool: step.tool,
    tool_input: step.input,
    log: step.log,
    type: step.type,
    output: step.output,
    status: step.status,
    execution_time: step.durationMs / 1000,
    started_at: new Date(step.startedAt).toISOString(),
    ...(step.subAgent === undefined ? {} : { sub_agent: step.subAgent }),
  }
}

/** This process takes nothing new, and hands over what it cannot end in time. */
export function serviceStopping(): ServiceError {
  return new ServiceError('overloaded', 'The service is stopping.', { retryAfter: 5 })
}

/** How often in a row a run may lose its process without a new checkpoint; then it is not tried again. */
export const maxLosses = 3

export function processLost(losses = 0): ServiceError {
  const tries = losses < maxLosses ? '' : ` This happened ${losses} times in a row without progress, so the request is not tried again.`
  return new ServiceError('process_lost', `The process that ran this request is gone.${tries}`)
}

/** The Error shape of a run that did not answer; undefined when it did. */
export function errorOf(end: LastEvent): ErrorBody | undefined {
  if (end.type === 'interrupt') return undefined
  if (end.error) return end.error
  if (end.reason !== 'cancelled') return undefined
  return { body: 'The run was cancelled.', status_code: 409, details: { error_type: 'Cancelled' } }
}
