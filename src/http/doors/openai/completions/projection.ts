import type { AnswerFile } from '../../../../artifacts/answer-files.ts'
import { errorOf, type AnswerBody } from '../../../../runs/log/outcome.ts'
import type { OpenRun } from '../../../../runs/open-run.ts'
import { lastOfPart, usageBefore, type RunPart } from '../../../../runs/parts.ts'
import type { LastEvent, LoggedEvent } from '../../../../runs/run.ts'
import { doneText, toData, toStream, type Projection, type RunStream } from '../../../send-run.ts'
import { Segments, Thoughts } from '../../texts.ts'
import { toOpenAiError, type OpenAiError } from '../errors.ts'
import { toCallId } from '../ids.ts'
import type { AnswerHead } from '../../model-apis/answered-run.ts'
import {
  answerOf,
  approvalFields,
  clientCallsOf,
  fileFields,
  linksBehind,
  partSuffix,
  tokensSince,
  toWebCitations,
  waitingText,
  type UrlCitation,
} from '../../model-apis/output.ts'

export interface CompletionHead extends AnswerHead {
  /** Epoch seconds. */
  created: number
  model: string
  metadata: Record<string, string> | undefined
}

/** `chatcmpl-<request id>`; the completions of later parts have the number of the interruption before. */
function idOf({ requestId, part }: CompletionHead): string {
  return `chatcmpl-${requestId}${partSuffix(part)}`
}

/** Converts a run that has ended or waits for approval to a `chat.completion`. */
export function toCompletion(
  head: CompletionHead,
  { output, generated_artifacts: files }: AnswerBody,
  run: Pick<OpenRun, 'log' | 'hasSchema'>,
): object {
  const { requestId, part, created, model, metadata } = head
  const { last, text: answer, thinking } = answerOf(part, output, run)
  const calls = functionCallsOf(last)
  const text = [answer, waitingText(requestId, last)].filter((piece) => piece !== '').join('\n\n')
  const links = linksBehind(last, files, text.length)
  const content = text + links.text
  const message = {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    refusal: null,
    tool_calls: calls.length > 0 ? calls : undefined,
    ...annotationFields([...citationsIn(last), ...links.citations]),
    reasoning_content: thinking || undefined,
  }
  return {
    id: idOf(head),
    object: 'chat.completion',
    created,
    model,
    metadata,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReasonOf(last) }],
    usage: toUsage(last, part),
    ...approvalFields(requestId, last),
    ...fileFields(files),
  }
}

/** A `chat.completion.chunk` without the fields that all chunks share, or what follows the chunks. */
export type CompletionChunk =
  | { content: string }
  | { delta: object }
  | { finish: FinishReason; more: object }
  | { usage: object }
  | { failure: OpenAiError }
  | 'done'

interface ChunkOptions {
  withUsage: boolean
  /** True where the answer has a schema: clients parse the whole content. */
  hasSchema: boolean
}

/**
 * A run as chunks of a completion. A blank line separates segments of the answer; thoughts are `reasoning_content`; steps of the agent are left
 * out; calls of client tools come at the end.
 */
export function completionChunksOf(
  { requestId, part }: Pick<CompletionHead, 'requestId' | 'part'>,
  { withUsage, hasSchema }: ChunkOptions,
): Projection<CompletionChunk> {
  const segments = new Segments({ isHeld: hasSchema })
  const thoughts = new Thoughts()
  let isFirst = true
  /** Characters of the content so far. */
  let length = 0
  /** Place of the last segment, which is the answer, in the content. */
  let answerAt = 0

  function begin(chunks: readonly CompletionChunk[]): readonly CompletionChunk[] {
    if (!isFirst) return chunks
    isFirst = false
    return [{ delta: { role: 'assistant', content: '' } }, ...chunks]
  }

  function toDeltas(event: LoggedEvent): readonly CompletionChunk[] {
    const thought = thoughts.take(event)
    const piece = segments.take(event)
    if (thought !== '') return [{ delta: { reasoning_content: thought } }]
    if (!piece) return []
    const content = piece.startsSegment && length > 0 ? `\n\n${piece.text}` : piece.text
    if (piece.startsSegment) answerAt = length + content.length - piece.text.length
    length += content.length
    return [{ content }]
  }

  function toContent(content: string): CompletionChunk[] {
    length += content.length
    return content === '' ? [] : [{ content }]
  }

  function toEnd(lastEvent: LastEvent, files: readonly AnswerFile[]): CompletionChunk[] {
    const last = lastOfPart(part, lastEvent)
    const error = errorOf(last)
    if (error) return [{ failure: toOpenAiError(error) }]
    const answer = toContent(segments.heldAnswer(last))
    const waits = waitingText(requestId, last)
    const text = toContent(length > 0 && waits !== '' ? `\n\n${waits}` : waits)
    const links = linksBehind(last, files, length)
    const citations = [...citationsIn(last, answerAt), ...links.citations]
    return [
      ...answer,
      ...text,
      ...(citations.length > 0 ? [{ delta: { content: links.text, ...annotationFields(citations) } }] : []),
      ...functionCallsOf(last).flatMap(toCallDeltas),
      { finish: finishReasonOf(last), more: { ...approvalFields(requestId, last), ...fileFields(files) } },
      ...(withUsage ? [{ usage: toUsage(last, part) }] : []),
      'done',
    ]
  }

  return {
    take: (event) => begin(toDeltas(event)),
    last: (event, _number, files) => begin(toEnd(event, files)),
  }
}

/** The chunks as server-sent events. */
export function streamCompletion(head: CompletionHead, options: ChunkOptions): RunStream {
  const { created, model } = head
  const fields = { id: idOf(head), object: 'chat.completion.chunk', created, model }
  const open = `data: ${JSON.stringify(fields).slice(0, -1)},"choices":[`
  const openDelta = `${open}{"index":0,"delta":`
  const usage = options.withUsage ? ',"usage":null' : ''
  const closeDelta = `,"logprobs":null,"finish_reason":null}]${usage}}\n\n`

  return toStream(completionChunksOf(head, options), (chunk) => {
    if (chunk === 'done') return doneText
    // Every token of the answer takes this path.
    if ('content' in chunk) return `${openDelta}{"content":${JSON.stringify(chunk.content)}}${closeDelta}`
    if ('delta' in chunk) return openDelta + JSON.stringify(chunk.delta) + closeDelta
    if ('failure' in chunk) return toData(chunk.failure)
    if ('usage' in chunk) return `${open}],${JSON.stringify(chunk).slice(1)}\n\n`
    const more = JSON.stringify(chunk.more).slice(1, -1)
    return `${openDelta}{},"logprobs":null,"finish_reason":"${chunk.finish}"}]${usage}${more && `,${more}`}}\n\n`
  })
}

/** A call of a client tool. */
interface FunctionCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

/** The calls that a completion ends with; empty for none. */
function functionCallsOf(last: LastEvent): FunctionCall[] {
  return clientCallsOf(last).map(({ callId, tool, input }) => {
    return { id: toCallId(callId), type: 'function', function: { name: tool, arguments: JSON.stringify(input) } }
  })
}

function toCallDeltas({ function: { name, arguments: input }, ...call }: FunctionCall, index: number): CompletionChunk[] {
  const begin = { index, ...call, function: { name, arguments: '' } }
  return [{ delta: { tool_calls: [begin] } }, { delta: { tool_calls: [{ index, function: { arguments: input } }] } }]
}

type FinishReason = 'stop' | 'length' | 'content_filter' | 'tool_calls'

/** The finish reason in OpenAI's terms. A run out of time or iterations has its best answer so far, which counts as `length`. */
function finishReasonOf(last: LastEvent): FinishReason {
  // OpenAI has no finish reason for an approval; with `stop` clients end their turn.
  if (last.type === 'interrupt') return last.calls.some(({ by }) => by === 'client') ? 'tool_calls' : 'stop'
  if (last.reason === 'content_filter') return last.reason
  return last.reason === 'stop' ? 'stop' : 'length'
}

/** The web pages that the answer rests on. `offset`: the place of the answer in the content. */
function citationsIn(last: LastEvent, offset = 0): UrlCitation[] {
  return last.type === 'end' ? toWebCitations(last.citations, offset) : []
}

/** OpenAI's form of links in a message; empty for none. */
function annotationFields(citations: readonly UrlCitation[]): object {
  if (citations.length === 0) return {}
  return { annotations: citations.map((citation) => ({ type: 'url_citation', url_citation: citation })) }
}

function toUsage({ usage }: LastEvent, part: RunPart): object {
  const { input, output, total, cached, reasoning } = tokensSince(usageBefore(part), usage)
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: total,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
}
