import type { AnswerFile } from '../../../../artifacts/answer-files.ts'
import { isOfBudget } from '../../../../errors.ts'
import { errorOf } from '../../../../runs/log/outcome.ts'
import { lastOfPart, lastReceived, usageBefore, type RunPart } from '../../../../runs/parts.ts'
import type { LastEvent, LoggedEvent } from '../../../../runs/run.ts'
import { isLastEvent } from '../../../../runs/log/event-log.ts'
import { noQuota } from '../errors.ts'
import { toResponseId, type ResponseKey } from '../ids.ts'
import { approvalFields, fileFields, tokensSince } from '../../model-apis/output.ts'
import { statusOf, type OutputItem } from './items.ts'
import { ResponseOutput, type EmitEvent } from './output.ts'
import type { ResponseFields } from './parameters.ts'
import { isPartEnd } from './parts.ts'

/** A response in each of its states. */
export interface ResponseHead {
  key: ResponseKey
  /** The part of the run that the response shows. */
  part: RunPart
  /** Epoch seconds. */
  created: number
  fields: ResponseFields
}

/** A response without an end. */
export function openResponse(head: ResponseHead, status: 'queued' | 'in_progress', output: readonly OutputItem[] = []): object {
  return {
    id: toResponseId(head.key),
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

interface ResponseEnd {
  end: LastEvent
  /** Epoch milliseconds of the end of the run, for an end event without a time; undefined for now. */
  endedAt?: number | undefined
  files?: readonly AnswerFile[] | undefined
}

/** A response whose run has ended, or waits for approval or for its client. */
export function endedResponse(head: ResponseHead, output: readonly OutputItem[], { end, endedAt: runEndedAt, files }: ResponseEnd): object {
  const endedAt = end.at ?? (end.type === 'end' ? runEndedAt : undefined) ?? Date.now()
  const error = errorOf(end)
  const status = endStatusOf(end)
  return {
    ...openResponse(head, 'in_progress', output),
    status,
    completed_at: status === 'completed' ? Math.floor(endedAt / 1000) : null,
    error: error && status === 'failed' ? { code: isOfBudget(error) ? noQuota : 'server_error', message: error.body } : null,
    incomplete_details: status === 'incomplete' ? { reason: incompleteReason(end) } : null,
    usage: toUsage(end, head.part),
    ...approvalFields(head.key.requestId, end),
    ...fileFields(files),
  }
}

export function endStatusOf(end: LastEvent): 'completed' | 'incomplete' | 'failed' | 'cancelled' {
  if (end.type === 'end' && end.reason === 'cancelled') return 'cancelled'
  return errorOf(end) ? 'failed' : statusOf(end)
}

function incompleteReason(end: LastEvent): string {
  if (end.type === 'interrupt') return 'approval_required'
  return end.reason === 'content_filter' || end.reason === 'budget_exceeded' ? end.reason : 'max_output_tokens'
}

function toUsage({ usage }: LastEvent, part: RunPart): object {
  const { input, output, total, cached, written, reasoning } = tokensSince(usageBefore(part), usage)
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: total,
  }
}

/** The output of a response, at the start of its part: the items of earlier parts count in the ids. */
export function createOutput({ key, part, fields }: ResponseHead, hasSchema: boolean, emit?: EmitEvent): ResponseOutput {
  const showsThoughts = typeof fields.reasoning?.summary === 'string'
  const output = new ResponseOutput({ requestId: key.requestId, showsThoughts, hasSchema }, emit)
  for (const event of part.before) {
    if (isPartEnd(event)) output.skip(event)
    else output.take(event)
  }
  return output
}

/** The run of a response, as far as its events do not tell. */
interface ResponseRun extends Omit<ResponseEnd, 'end'> {
  hasSchema: boolean
}

/** Converts the events of a run, up to the end of the part of the response, to the response. */
export function toResponse(head: ResponseHead, events: readonly LoggedEvent[], { hasSchema, ...rest }: ResponseRun): object {
  const output = createOutput(head, hasSchema)
  const shown = events.slice(lastReceived(head.part))
  const last = shown.at(-1)
  for (const event of shown) if (event !== last || !isLastEvent(event)) output.take(event)
  if (!isLastEvent(last)) return openResponse(head, 'in_progress', output.completed())
  const end = lastOfPart(head.part, last)
  return endedResponse(head, output.finish(end, rest.files), { ...rest, end })
}
