import { errorOf, type RunAnswer } from '../../runs/log/outcome.ts'
import type { LastEvent } from '../../runs/run.ts'
import type { ChatBody } from '../schemas.ts'
import { toChatBody } from './messages.ts'
import type { InputMessage, ResponseBody } from './schemas.ts'
import { tokensOf } from './tokens.ts'
import { approvalFields, withApprovalText } from './approval.ts'

/** Fields of a response that repeat its request, in each of its states. */
export interface ResponseHead {
  /** The request id of the run. */
  requestId: string
  /** Epoch seconds. */
  created: number
  model: string
  instructions: string | null
  metadata: Record<string, string>
  toolChoice: 'auto' | 'none'
}

export interface OutputMessage {
  id: string
  type: 'message'
  role: 'assistant'
  status: 'completed' | 'incomplete'
  /** `commentary` is streamed text before the final answer. */
  phase: 'commentary' | 'final_answer'
  content: object[]
}

/** Converts a request for a response to a chat body. Instructions become the first message. */
export function responseToChatBody({ input, instructions }: ResponseBody): ChatBody {
  const inputMessages = typeof input === 'string' ? [{ role: 'user', content: input } as const] : (input as InputMessage[])
  const body = toChatBody(inputMessages, ['body', 'input'])
  if (!instructions) return body
  return { ...body, messages: [{ role: 'system', content: instructions }, ...body.messages] }
}

export function responseHead(requestId: string, { model, instructions = null, metadata, tool_choice: choice }: ResponseBody): ResponseHead {
  const created = Math.floor(Date.now() / 1000)
  return { requestId, created, model, instructions, metadata: metadata ?? {}, toolChoice: choice === 'auto' ? choice : 'none' }
}

/** Converts a run that has ended or waits for approval to a `response`. */
export function toResponse(head: ResponseHead, { output }: RunAnswer, end: LastEvent): object {
  const text = withApprovalText(head.requestId, output, end)
  const message = toMessage(`msg_${head.requestId}_0`, text, { status: statusOf(end), phase: 'final_answer' })
  return endedResponse(head, text === '' ? [] : [message], end)
}

export function endedResponse(head: ResponseHead, output: readonly OutputMessage[], end: LastEvent): object {
  const error = errorOf(end)
  const status = error ? 'failed' : statusOf(end)
  return {
    ...openResponse(head),
    status,
    completed_at: status === 'completed' ? Math.floor(Date.now() / 1000) : null,
    error: error ? { code: 'server_error', message: error.body } : null,
    incomplete_details: status !== 'incomplete' ? null : { reason: incompleteReason(end) },
    output,
    usage: toUsage(end),
    ...approvalFields(head.requestId, end),
  }
}

function incompleteReason(end: LastEvent): string {
  if (end.type === 'interrupt') return 'approval_required'
  return end.reason === 'content_filter' ? end.reason : 'max_output_tokens'
}

/** `completed` only for an answer that the model finished itself. */
export function statusOf(end: LastEvent): 'completed' | 'incomplete' {
  return end.type === 'end' && end.reason === 'stop' ? 'completed' : 'incomplete'
}

/** Model settings at their defaults. Clients require the fields, but the agent uses its own settings and ignores the settings of a request. */
const modelFields = {
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  reasoning: null,
  max_output_tokens: null,
  max_tool_calls: null,
  service_tier: 'default',
  safety_identifier: null,
  prompt_cache_key: null,
}

/** A response in progress. */
export function openResponse({ requestId, created, model, instructions, metadata, toolChoice }: ResponseHead): object {
  return {
    id: `resp_${requestId}`,
    object: 'response',
    created_at: created,
    completed_at: null,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions,
    metadata,
    model,
    output: [],
    parallel_tool_calls: false,
    previous_response_id: null,
    store: false,
    ...modelFields,
    text: { format: { type: 'text' } },
    tool_choice: toolChoice,
    tools: [],
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
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: total,
  }
}
