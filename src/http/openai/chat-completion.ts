import { errorOf, type RunAnswer } from '../../runs/log/outcome.ts'
import { isLastEvent, type LastEvent, type LoggedEvent } from '../../runs/run.ts'
import type { ToChunk } from '../stream-chunks.ts'
import { toOpenAiError } from './errors.ts'
import { Segments, Thoughts } from './segments.ts'
import { finishReasonOf, tokensOf } from './tokens.ts'
import { approvalFields, withApprovalText } from './approval.ts'

/** Fields that all chunks of a completion share. */
export interface CompletionHead {
  /** The request id of the run. */
  requestId: string
  id: string
  /** Epoch seconds. */
  created: number
  model: string
}

export function completionHead(requestId: string, model: string): CompletionHead {
  return { requestId, id: `chatcmpl-${requestId}`, created: Math.floor(Date.now() / 1000), model }
}

/** Converts a run that has ended or waits for approval to a `chat.completion`. */
export function toCompletion({ requestId, id, ...head }: CompletionHead, { output }: RunAnswer, events: readonly LoggedEvent[]): object {
  const last = events.at(-1) as LastEvent
  const content = withApprovalText(requestId, output, last)
  const thoughtReader = new Thoughts()
  const thoughts = events.map((event) => thoughtReader.take(event)).join('')
  const message = { role: 'assistant', content, refusal: null, ...(thoughts === '' ? {} : { reasoning_content: thoughts }) }
  return {
    id,
    object: 'chat.completion',
    ...head,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReasonOf(last) }],
    usage: toUsage(last),
    ...approvalFields(requestId, last),
  }
}

/** Renders a run as `chat.completion.chunk` events. A blank line separates segments of the answer; thoughts are `reasoning_content`; steps are left out. */
export function completionChunksOf({ requestId, id, ...rest }: CompletionHead, withUsage: boolean): ToChunk {
  const head = `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', ...rest }).slice(0, -1)},"choices":[`
  const usage = withUsage ? ',"usage":null' : ''
  const open = `${head}{"index":0,"delta":`
  const close = `,"logprobs":null,"finish_reason":null}]${usage}}\n\n`
  const segments = new Segments()
  const thoughts = new Thoughts()
  let isFirst = true
  let hasText = false

  function toDelta(event: LoggedEvent): string {
    const thought = thoughts.take(event)
    const piece = segments.take(event)
    if (thought !== '') return `${open}{"reasoning_content":${JSON.stringify(thought)}}${close}`
    if (!piece) return ''
    const text = piece.startsSegment && hasText ? `\n\n${piece.text}` : piece.text
    hasText = true
    return `${open}{"content":${JSON.stringify(text)}}${close}`
  }

  function toEnd(event: LastEvent): string {
    const error = errorOf(event)
    if (error) return `data: ${JSON.stringify(toOpenAiError(error))}\n\n`
    const approvalText = withApprovalText(requestId, '', event)
    const content = hasText ? `\n\n${approvalText}` : approvalText
    const text = approvalText === '' ? '' : `${open}{"content":${JSON.stringify(content)}}${close}`
    const approval = approvalText === '' ? '' : `,${JSON.stringify(approvalFields(requestId, event)).slice(1, -1)}`
    const last = `${open}{},"logprobs":null,"finish_reason":"${finishReasonOf(event)}"}]${usage}${approval}}\n\n`
    return `${text}${last}${withUsage ? `${head}],"usage":${JSON.stringify(toUsage(event))}}\n\n` : ''}data: [DONE]\n\n`
  }

  return (_number, event, isLast) => {
    const begin = isFirst ? `${open}{"role":"assistant","content":""}${close}` : ''
    isFirst = false
    return begin + (isLast && isLastEvent(event) ? toEnd(event) : toDelta(event))
  }
}

function toUsage({ usage }: LastEvent): object {
  const { input, output, total, cached, reasoning } = tokensOf(usage)
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: total,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
}
