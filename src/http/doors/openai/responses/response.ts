import type { AnswerFile } from '../../../../artifacts/answer-files.ts'
import { errorOf } from '../../../../runs/log/outcome.ts'
import { isLastEvent, type LastEvent, type LoggedEvent } from '../../../../runs/run.ts'
import type { UsageEntry } from '../../../../sessions/message.ts'
import { approvalFields } from '../approval.ts'
import { fileFields } from '../files.ts'
import { toResponseId, type ResponseKey } from '../ids.ts'
import type { OutputItem } from './items.ts'
import { ResponseOutput } from './output.ts'
import type { ResponseFields } from './parameters.ts'
import { isPartEnd } from './parts.ts'
import { endStatusOf, incompleteReason, usageOf } from './state.ts'

/** A response in each of its states. */
export interface ResponseHead extends ResponseKey {
  /** Epoch seconds. */
  created: number
  fields: ResponseFields
}

/** A response without an end. */
export function openResponse(head: ResponseHead, status: 'queued' | 'in_progress', output: readonly OutputItem[] = []): object {
  return {
    id: toResponseId(head),
    object: 'response',
    created_at: head.created,
    completed_at: null,
    status,
    error: null,
    incomplete_details: null,
    ...head.fields,
    output,
    max_tool_calls: null,
    top_logprobs: 0,
    service_tier: 'default',
    truncation: 'auto',
    usage: null,
  }
}

export interface ResponseEnd {
  end: LastEvent
  /** Epoch milliseconds of the end of the run, for an end event without a time; undefined for now. */
  endedAt?: number | undefined
  files?: readonly AnswerFile[] | undefined
  /** Usage of the run up to the part before. */
  usageBefore?: readonly UsageEntry[]
}

/** A response whose run has ended, or waits for approval or for its client. */
export function endedResponse(
  head: ResponseHead,
  output: readonly OutputItem[],
  { end, endedAt: runEndedAt, files, usageBefore }: ResponseEnd,
): object {
  const endedAt = end.at ?? (end.type === 'end' ? runEndedAt : undefined) ?? Date.now()
  const error = errorOf(end)
  const status = endStatusOf(end)
  return {
    ...openResponse(head, 'in_progress', output),
    status,
    completed_at: status === 'completed' ? Math.floor(endedAt / 1000) : null,
    error: error && status === 'failed' ? { code: 'server_error', message: error.body } : null,
    incomplete_details: status === 'incomplete' ? { reason: incompleteReason(end) } : null,
    usage: usageOf(end, usageBefore),
    ...approvalFields(head.requestId, end),
    ...fileFields(files),
  }
}

const noSink = { event() {}, delta() {} }

export function createOutput(
  { requestId, fields: { reasoning } }: ResponseHead,
  hasSchema: boolean,
  sink: ConstructorParameters<typeof ResponseOutput>[1] = noSink,
): ResponseOutput {
  const showsThoughts = typeof reasoning?.['summary'] === 'string'
  return new ResponseOutput({ requestId, showsThoughts, hasSchema }, sink)
}

/** The run of a response, as far as its events do not tell. */
interface ResponseRun extends Omit<ResponseEnd, 'end' | 'usageBefore'> {
  hasSchema: boolean
}

/** Converts the events of a run, up to the end of the part of the response, to the response. */
export function toResponse(head: ResponseHead, events: readonly LoggedEvent[], { hasSchema, ...end }: ResponseRun): object {
  const output = createOutput(head, hasSchema)
  let part = 1
  let usageBefore: readonly UsageEntry[] = []
  for (const [index, event] of events.entries()) {
    if (isPartEnd(event) && part < head.part) {
      output.skip(event)
      usageBefore = event.usage
      part++
    } else if (index === events.length - 1 && isLastEvent(event)) {
      return endedResponse(head, output.finish(event, end.files), { ...end, end: event, usageBefore })
    } else output.take(event)
  }
  const last = events.at(-1)
  // The client has answered its calls, and other calls of the turn still wait for approval.
  const approvals = last?.type === 'interrupt' ? last.calls.filter(({ by }) => by !== 'client') : []
  if (last?.type !== 'interrupt' || approvals.length === 0) return openResponse(head, 'in_progress', output.completed())
  const waiting: LastEvent = { ...last, calls: approvals }
  return endedResponse(head, output.finish(waiting), { end: waiting, usageBefore })
}
