import type { Step, EndReason } from '../../agent/events.ts'
import type { JsonValue } from '../../agent/messages.ts'
import type { AnswerFile, KeptFiles } from '../../artifacts/answer-files.ts'
import { ServiceError, statusOf, toErrorBody, type ErrorBody } from '../../errors.ts'
import { toCitationContext, type AdditionalContext, type AnswerStep, type UsageEntry } from '../../sessions/message.ts'
import type { EndedStatus, EndEvent, LastEvent, LoggedEvent } from '../run.ts'
import { isLastEvent, EventLog } from './event-log.ts'
import { fromCompact } from './compact-log.ts'
import { hasSchema, type OpenRun } from '../open-run.ts'
import type { StoredRun } from '../run-store.ts'

/** The answer of a run, collected from the run's events, without files. */
export interface RunAnswer {
  input: string
  output: string
  /** The value of `output`, where the answer has a schema. */
  structured_output?: JsonValue
  intermediate_steps: AnswerStep[]
  usage: UsageEntry[]
  /** The citations of the answer; absent for none. */
  additional_context?: AdditionalContext[]
}

/** The answer with the files of the run, as one reader gets it. */
export interface AnswerBody extends RunAnswer {
  generated_artifacts: readonly AnswerFile[]
}

export interface Outcome {
  /** For a run that waits for approval, the answer so far. */
  answer: RunAnswer
  end: LastEvent
}

/** The end of a run, or of its reading, with an error and without usage. */
export function toFailedEnd(error: unknown): EndEvent {
  return { type: 'end', reason: 'error', usage: [], thoughts: [], error: toErrorBody(error) }
}

/** The end of a resumed run that did not get the session and has no log any more. */
export const endWithoutSession = toFailedEnd(
  new ServiceError('session_busy', 'The run failed, and did not get its session to go on. It can be repeated.'),
)

/** True for an error of the local process, such as a stop or a lost database: the run goes on, and can be read elsewhere. */
export function isReadFailure(error: unknown): boolean {
  return !(error instanceof ServiceError) || statusOf(error.code) >= 500
}

/** Collects the outcome of a log that has ended or is interrupted. */
export function collect(input: string, events: readonly LoggedEvent[]): Outcome {
  const end = events.at(-1)
  if (!isLastEvent(end)) throw new Error('The outcome of a run can be collected only when the run has ended.')
  const output = outputOf(events)
  const structured = end.type === 'end' && end.structured ? { structured_output: JSON.parse(output) as JsonValue } : {}
  const context = end.type === 'end' && end.citations ? toCitationContext(end.citations) : []
  const steps = stepsOf(events, end).map(toAnswerStep)
  const answer = { input, output, ...structured, intermediate_steps: steps, usage: end.usage }
  return { answer: context.length > 0 ? { ...answer, additional_context: context } : answer, end }
}

/** The `answer` text after the last event with another label. By definition, `end` and `interrupt` events count as `answer`. */
export function outputOf(events: readonly LoggedEvent[]): string {
  const isOther = (event: LoggedEvent) =>
    event.type === 'text' ? event.label !== 'answer' : event.type !== 'end' && event.type !== 'interrupt'
  const start = events.findLastIndex(isOther) + 1
  let output = ''
  for (let at = start; at < events.length; at++) {
    const event = events[at]!
    if (event.type === 'text') output += event.text
  }
  return output
}

/** The ended steps in order of their start. Those of the same millisecond: plan, thought, tool calls as they began. */
export function stepsOf(events: readonly LoggedEvent[], { thoughts }: { thoughts: readonly Step[] }): Step[] {
  const ended: Step[] = [...thoughts]
  for (const event of events) if (event.type === 'step_end') ended.push(event.step)
  if (ended.length < 2) return ended
  const begun = new Map<string, number>()
  for (const event of events) if (event.type === 'step_start') begun.set(event.step.id, begun.size)
  const rank = ({ type, id }: Step) => (type === 'planning' ? -2 : type === 'reasoning' ? -1 : (begun.get(id) ?? 0))
  return ended.toSorted((a, b) => a.startedAt - b.startedAt || rank(a) - rank(b))
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

/** The error for requests to a process that is shutting down: the process accepts no new runs and hands over unfinished runs. */
export function serviceStopping(): ServiceError {
  return new ServiceError('overloaded', 'The service is stopping.', { retryAfter: 5 })
}

/** Number of lost processes in a row, without a new checkpoint, after which a run is not retried. */
export const maxLosses = 3

export function processLost(losses = 0): ServiceError {
  const tries = losses < maxLosses ? '' : ` This happened ${losses} times in a row without progress, so the request is not tried again.`
  return new ServiceError('process_lost', `The process that ran this request is gone.${tries}`)
}

export function statusOfEnd(reason: EndReason): EndedStatus {
  if (reason === 'timeout' || reason === 'cancelled' || reason === 'error') return reason
  return reason === 'schema_mismatch' ? 'error' : 'success'
}

/** The error of a run that failed or was cancelled, in the `Error` shape of the API; undefined when the run has an answer. */
export function errorOf(end: LastEvent): ErrorBody | undefined {
  if (end.type === 'interrupt') return undefined
  if (end.error) return end.error
  if (end.reason !== 'cancelled') return undefined
  return { body: 'The run was cancelled.', status_code: 409, details: { error_type: 'Cancelled' } }
}

/** An ended run, read from the stored row. A run that left the session queue has no log; readers get the error `session_busy`. */
export function replay(run: StoredRun): OpenRun {
  const { requestId, sessionId, log: stored } = run
  const events = stored ? fromCompact(stored.events) : [endWithoutSession]
  const log = new EventLog({ events, restoredAt: stored?.restoredAt })
  return { requestId, sessionId, input: stored?.input ?? '', hasSchema: hasSchema(run), log, ended: Promise.resolve() }
}

/** The files of a run's answer; undefined for none, and for a run from before its end named them. */
export function keptFilesOf({ log }: Pick<StoredRun, 'log'>): KeptFiles | undefined {
  const last = log?.events.at(-1)
  return last?.type === 'end' || last?.type === 'interrupt' ? last.files : undefined
}

/** The answer or the error of an ended run. Must not be called for an unended run: a repeated run still has the log of the first end. */
export function resultOf({ log, status, error }: StoredRun): { outcome?: Outcome | undefined; error?: ErrorBody | undefined } {
  const outcome = log && log.events.length > 0 ? collect(log.input, fromCompact(log.events)) : undefined
  const end = outcome?.end ?? (status === 'error' ? endWithoutSession : undefined)
  return { outcome, error: error ?? (end && errorOf(end)) }
}
