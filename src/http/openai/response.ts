import { errorOf, type Answer } from '../../runs/outcome.ts'
import type { LastEvent } from '../../runs/run.ts'
import type { ChatBody } from '../schemas.ts'
import { toChatBody } from './messages.ts'
import type { GivenMessage, ResponseBody } from './schemas.ts'
import { tokensOf } from './tokens.ts'
import { waitingFields, withWaitingText } from './waiting.ts'

/** What a response says of its request, at each of its states. */
export interface ResponseHead {
  /** Of the run. */
  requestId: string
  /** Epoch seconds. */
  created: number
  model: string
  instructions: string | null
  metadata: Record<string, string>
}

export interface OutputMessage {
  id: string
  type: 'message'
  role: 'assistant'
  status: 'completed' | 'incomplete'
  /** `commentary` is what was said before the answer, where a stream has told it. */
  phase: 'commentary' | 'final_answer'
  content: object[]
}

/** The input, with the instructions in front, as a chat in our words. */
export function responseToChatBody({ input, instructions }: ResponseBody): ChatBody {
  const given = typeof input === 'string' ? [{ role: 'user', content: input } as const] : (input as GivenMessage[])
  const body = toChatBody(given, ['body', 'input'])
  if (!instructions) return body
  return { ...body, messages: [{ role: 'system', content: instructions }, ...body.messages] }
}

export function responseHead(requestId: string, { model, instructions = null, metadata }: ResponseBody): ResponseHead {
  return { requestId, created: Math.floor(Date.now() / 1000), model, instructions, metadata: metadata ?? {} }
}

/** A run that has answered, or waits for approval, as one `response`. */
export function toResponse(head: ResponseHead, { output }: Answer, end: LastEvent): object {
  const text = withWaitingText(head.requestId, output, end)
  const message = toMessage(`msg_${head.requestId}_0`, text, { status: statusOf(end), phase: 'final_answer' })
  return endedResponse(head, text === '' ? [] : [message], end)
}

export function endedResponse(head: ResponseHead, output: readonly OutputMessage[], end: LastEvent): object {
  const error = errorOf(end)
  return {
    ...openResponse(head),
    status: error ? 'failed' : statusOf(end),
    error: error ? { code: 'server_error', message: error.body } : null,
    incomplete_details: error || statusOf(end) === 'completed' ? null : { reason: whyIncomplete(end) },
    output,
    usage: toUsage(end),
    ...waitingFields(head.requestId, end),
  }
}

function whyIncomplete(end: LastEvent): string {
  if (end.type === 'interrupt') return 'approval_required'
  return end.reason === 'content_filter' ? end.reason : 'max_output_tokens'
}

/** Whether an answer is whole. */
export function statusOf(end: LastEvent): 'completed' | 'incomplete' {
  return end.type === 'end' && end.reason === 'stop' ? 'completed' : 'incomplete'
}

/** A response that has begun. */
export function openResponse({ requestId, created, model, instructions, metadata }: ResponseHead): object {
  return {
    id: `resp_${requestId}`,
    object: 'response',
    created_at: created,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    instructions,
    metadata,
    model,
    output: [],
    parallel_tool_calls: false,
    previous_response_id: null,
    store: false,
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'none',
    tools: [],
    top_p: null,
    truncation: 'auto',
    usage: null,
  }
}

export function toMessage(id: string, text: string, { status, phase }: Pick<OutputMessage, 'status' | 'phase'>): OutputMessage {
  return { id, type: 'message', role: 'assistant', status, phase, content: [toPart(text)] }
}

export function toPart(text: string): object {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

function toUsage({ usage }: LastEvent): object {
  const { input, output, total, cached, reasoning } = tokensOf(usage)
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: total,
  }
}
