import { errorOf, type Answer } from '../../runs/outcome.ts'
import type { EndEvent, LoggedEvent } from '../../runs/run.ts'
import type { ToChunk } from '../stream-chunks.ts'
import { toOpenAiError } from './errors.ts'
import { Segments, thoughtOf } from './segments.ts'
import { finishOf, tokensOf } from './tokens.ts'

/** What all chunks of a completion have in common. */
export interface CompletionHead {
  id: string
  /** Epoch seconds. */
  created: number
  model: string
}

export function completionHead(requestId: string, model: string): CompletionHead {
  return { id: `chatcmpl-${requestId}`, created: Math.floor(Date.now() / 1000), model }
}

/** A run that has answered as one `chat.completion`. */
export function toCompletion({ id, ...head }: CompletionHead, { output }: Answer, events: readonly LoggedEvent[]): object {
  const end = events.at(-1) as EndEvent
  const thoughts = events.map(thoughtOf).join('')
  const message = { role: 'assistant', content: output, refusal: null, ...(thoughts === '' ? {} : { reasoning_content: thoughts }) }
  return {
    id,
    object: 'chat.completion',
    ...head,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(end.reason) }],
    usage: toUsage(end),
  }
}

/** The same as it comes. Segments of the answer are parted by a blank line; thoughts are `reasoning_content`; steps are not told. */
export function completionChunksOf({ id, ...rest }: CompletionHead, withUsage: boolean): ToChunk {
  const head = `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', ...rest }).slice(0, -1)},"choices":[`
  const usage = withUsage ? ',"usage":null' : ''
  const open = `${head}{"index":0,"delta":`
  const close = `,"logprobs":null,"finish_reason":null}]${usage}}\n\n`
  const segments = new Segments()
  let isFirst = true
  let hasText = false

  function toDelta(event: LoggedEvent): string {
    const thought = thoughtOf(event)
    const piece = segments.take(event)
    if (thought !== '') return `${open}{"reasoning_content":${JSON.stringify(thought)}}${close}`
    if (!piece) return ''
    const text = piece.begins && hasText ? `\n\n${piece.text}` : piece.text
    hasText = true
    return `${open}{"content":${JSON.stringify(text)}}${close}`
  }

  function toEnd(end: EndEvent): string {
    const error = errorOf(end)
    if (error) return `data: ${JSON.stringify(toOpenAiError(error))}\n\n`
    const last = `${open}{},"logprobs":null,"finish_reason":"${finishOf(end.reason)}"}]${usage}}\n\n`
    return `${last}${withUsage ? `${head}],"usage":${JSON.stringify(toUsage(end))}}\n\n` : ''}data: [DONE]\n\n`
  }

  return (_number, event) => {
    const begin = isFirst ? `${open}{"role":"assistant","content":""}${close}` : ''
    isFirst = false
    return begin + (event.type === 'end' ? toEnd(event) : toDelta(event))
  }
}

function toUsage({ usage }: EndEvent): object {
  const { input, output, total, cached, reasoning } = tokensOf(usage)
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: total,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
}
