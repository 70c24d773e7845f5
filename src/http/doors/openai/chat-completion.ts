import type { AnswerFile } from '../../../artifacts/answer-files.ts'
import { errorOf, type AnswerBody } from '../../../runs/log/outcome.ts'
import type { OpenRun } from '../../../runs/open-run.ts'
import { usageBefore, wholeRun, type RunPart } from '../../../runs/parts.ts'
import { isLastEvent, type LastEvent, type LoggedEvent } from '../../../runs/run.ts'
import type { ToChunk } from '../core/stream-chunks.ts'
import { toOpenAiError } from './errors.ts'
import { Segments, Thoughts } from '../segments.ts'
import { finishReasonOf, tokensSince } from './tokens.ts'
import { functionCallsOf, type FunctionCall } from './tool-calls.ts'
import { approvalFields, withApprovalText } from './approval.ts'
import { fileFields, toFileText, toWebCitations, type FileText, type UrlCitation } from './files.ts'

/** Fields that all chunks of a completion share. */
export interface CompletionHead {
  /** The request id of the run. */
  requestId: string
  id: string
  /** Epoch seconds. */
  created: number
  model: string
  metadata?: Record<string, string>
}

/** The head of the completion that a request gets: of its own run, or of the part behind an interruption of an earlier run. */
export function completionHead(requestId: string, model: string, { before }: RunPart): CompletionHead {
  const interruptions = before.filter(({ type }) => type === 'interrupt').length
  const id = `chatcmpl-${requestId}${interruptions > 0 ? `-${interruptions}` : ''}`
  return { requestId, id, created: Math.floor(Date.now() / 1000), model }
}

/** The last event, without calls that were decided since. */
function lastOf(event: LastEvent, { open }: RunPart): LastEvent {
  return event.type === 'interrupt' && open.length > 0 ? { ...event, calls: open } : event
}

/** Converts a run that has ended or waits for approval to a `chat.completion`. */
export function toCompletion(
  { requestId, id, ...head }: CompletionHead,
  body: AnswerBody,
  { log: { events }, hasSchema }: Pick<OpenRun, 'log' | 'hasSchema'>,
  part = wholeRun,
): object {
  const last = lastOf(events.at(-1) as LastEvent, part)
  const { output, generated_artifacts: files } = body
  const calls = functionCallsOf(last)
  // The answer so far leaves out the text in front of calls that the agent itself made in the same turn.
  const answer = calls.length > 0 ? lastSegment(events.slice(part.before.length)) : output
  const hasAnswer = part.open.length === 0 && !(hasSchema && last.type === 'interrupt')
  const text = withApprovalText(requestId, hasAnswer ? answer : '', last)
  const links = linksBehind(last, files, text.length)
  const thoughtReader = new Thoughts()
  const thoughts = events
    .slice(part.before.length)
    .map((event) => thoughtReader.take(event))
    .join('')
  const message = {
    role: 'assistant',
    content: text + links.text === '' && calls.length > 0 ? null : text + links.text,
    refusal: null,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...annotationFields([...citationsIn(last), ...links.citations]),
    ...(thoughts === '' ? {} : { reasoning_content: thoughts }),
  }
  return {
    id,
    object: 'chat.completion',
    ...head,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReasonOf(last) }],
    usage: toUsage(last, part),
    ...approvalFields(requestId, last),
    ...fileFields(files),
  }
}

/** The text in front of the last calls. */
function lastSegment(events: readonly LoggedEvent[]): string {
  const segments = new Segments({ isHeld: false })
  let text = ''
  for (const event of events) {
    const piece = segments.take(event)
    if (piece) text = piece.startsSegment ? piece.text : text + piece.text
  }
  return text
}

export interface ChunkOptions {
  withUsage: boolean
  /** True where the answer has a schema: clients parse the whole content. */
  hasSchema: boolean
  /** Default: the whole run. */
  part?: RunPart | undefined
}

/**
 * Renders a run as `chat.completion.chunk` events. A blank line separates segments of the answer; thoughts are `reasoning_content`; steps of the
 * agent are left out; calls of client tools come at the end.
 */
export function completionChunksOf(
  { requestId, id, created, model }: CompletionHead,
  { withUsage, hasSchema, part = wholeRun }: ChunkOptions,
): ToChunk {
  const head = `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, model }).slice(0, -1)},"choices":[`
  const usage = withUsage ? ',"usage":null' : ''
  const open = `${head}{"index":0,"delta":`
  const close = `,"logprobs":null,"finish_reason":null}]${usage}}\n\n`
  const segments = new Segments({ isHeld: hasSchema })
  const thoughts = new Thoughts()
  let isFirst = true
  /** Characters of the content so far. */
  let length = 0
  /** Place of the last segment, which is the answer, in the content. */
  let answerAt = 0

  function toDelta(event: LoggedEvent): string {
    const thought = thoughts.take(event)
    const piece = segments.take(event)
    if (thought !== '') return `${open}{"reasoning_content":${JSON.stringify(thought)}}${close}`
    if (!piece) return ''
    const text = piece.startsSegment && length > 0 ? `\n\n${piece.text}` : piece.text
    if (piece.startsSegment) answerAt = length + text.length - piece.text.length
    length += text.length
    return `${open}{"content":${JSON.stringify(text)}}${close}`
  }

  function toText(content: string, fields: object = {}): string {
    if (content === '' && Object.keys(fields).length === 0) return ''
    length += content.length
    return `${open}${JSON.stringify({ content, ...fields })}${close}`
  }

  function toCallDeltas(calls: readonly FunctionCall[]): string {
    return calls
      .map(({ function: { arguments: input, name }, ...call }, index) => {
        const begin = JSON.stringify({ index, ...call, function: { name, arguments: '' } })
        const rest = JSON.stringify({ index, function: { arguments: input } })
        return `${open}{"tool_calls":[${begin}]}${close}${open}{"tool_calls":[${rest}]}${close}`
      })
      .join('')
  }

  function toEnd(lastEvent: LastEvent, files: readonly AnswerFile[] | undefined): string {
    const event = lastOf(lastEvent, part)
    const error = errorOf(event)
    if (error) return `data: ${JSON.stringify(toOpenAiError(error))}\n\n`
    const answer = toText(segments.heldAnswer(event))
    const approvalText = withApprovalText(requestId, '', event)
    const text = toText(length > 0 && approvalText !== '' ? `\n\n${approvalText}` : approvalText)
    const links = linksBehind(event, files, length)
    const annotations = annotationFields([...citationsIn(event, answerAt), ...links.citations])
    const linkText = toText(links.text, annotations) + toCallDeltas(functionCallsOf(event))
    const fields = JSON.stringify({ ...approvalFields(requestId, event), ...fileFields(files) }).slice(1, -1)
    const extra = fields === '' ? '' : `,${fields}`
    const last = `${open}{},"logprobs":null,"finish_reason":"${finishReasonOf(event)}"}]${usage}${extra}}\n\n`
    const usageChunk = withUsage ? `${head}],"usage":${JSON.stringify(toUsage(event, part))}}\n\n` : ''
    return `${answer}${text}${linkText}${last}${usageChunk}data: [DONE]\n\n`
  }

  return (_number, event, isLast, files) => {
    const begin = isFirst ? `${open}{"role":"assistant","content":""}${close}` : ''
    isFirst = false
    return begin + (isLast && isLastEvent(event) ? toEnd(event, files) : toDelta(event))
  }
}

/** Links follow an answer in words. An answer with a schema is JSON alone. */
function linksBehind(last: LastEvent, files: readonly AnswerFile[] | undefined, length: number): FileText {
  return toFileText(last.type === 'end' && last.structured ? [] : files, length)
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
