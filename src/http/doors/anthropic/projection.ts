import type { AnswerFile } from '../../../artifacts/answer-files.ts'
import { errorOf, type AnswerBody } from '../../../runs/log/outcome.ts'
import type { OpenRun } from '../../../runs/open-run.ts'
import { lastOfPart, usageBefore, type RunPart } from '../../../runs/parts.ts'
import type { LastEvent } from '../../../runs/run.ts'
import { toStream, type Projection, type RunStream } from '../../send-run.ts'
import type { AnswerHead } from '../model-apis/answered-run.ts'
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
} from '../model-apis/output.ts'
import { StreamedTexts, type TextForm } from '../texts.ts'
import { toAnthropicError } from './errors.ts'

export interface MessageHead extends AnswerHead {
  model: string
  showsThinking: boolean
}

type Block =
  | { type: 'text'; text: string; citations?: object[] }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'tool_use'; id: string; name: string; input: unknown; caller: { type: 'direct' } }

/** Converts a run that has ended or waits to a message. The text in front of calls that the agent itself made is left out. */
export function toMessage(
  head: MessageHead,
  { output, generated_artifacts: files }: AnswerBody,
  run: Pick<OpenRun, 'log' | 'hasSchema'>,
): object {
  const { requestId, part, showsThinking } = head
  const { last, text, thinking } = answerOf(part, output, run)
  const content: Block[] = [
    ...(showsThinking && thinking !== '' ? [{ type: 'thinking' as const, thinking, signature: toSignature(requestId) }] : []),
    ...(text === '' ? [] : [toTextBlock(text, citationsIn(last))]),
    ...textsBehind(requestId, last, files).map((more) => toTextBlock(more)),
    ...clientCallsOf(last).map(toToolUse),
  ]
  return {
    ...toOpenMessage(head),
    content,
    ...toEndOfMessage(last),
    usage: toUsage(last, part),
    ...approvalFields(requestId, last),
    ...fileFields(files),
  }
}

/** An event of a stream, or a piece of the answer, which every token is. */
type StreamEvent = { type: string; [field: string]: unknown } | { index: number; text: string }

/**
 * A run as the stream of a message. Each stretch of the answer is a block; each thought is one too, where the client asked for thoughts. Steps of the
 * agent are left out; calls of client tools come at the end.
 */
export function messageEventsOf(head: MessageHead, hasSchema: boolean): Projection<StreamEvent> {
  const { requestId, part, showsThinking } = head
  let blocks = 0
  let citations: object[] = []
  let beginning: readonly StreamEvent[] = [{ type: 'message_start', message: toStart(head) }, { type: 'ping' }]
  const texts = new StreamedTexts<StreamEvent>(
    (kind, index) => {
      blocks = index + 1
      return kind === 'text' ? toTextForm(index, () => citations) : toThinkingForm(index, toSignature(requestId))
    },
    { isHeld: hasSchema },
  )

  function begin(events: readonly StreamEvent[]): readonly StreamEvent[] {
    const begun = beginning.length === 0 || events.length === 0 ? events : [...beginning, ...events]
    if (events.length > 0) beginning = []
    return begun
  }

  function toBlock(empty: Block, delta: object): StreamEvent[] {
    const index = blocks++
    return [
      { type: 'content_block_start', index, content_block: empty },
      { type: 'content_block_delta', index, delta },
      { type: 'content_block_stop', index },
    ]
  }

  function toEnd(lastEvent: LastEvent, files: readonly AnswerFile[]): StreamEvent[] {
    const last = lastOfPart(part, lastEvent)
    const error = errorOf(last)
    if (error) return [toAnthropicError(error, requestId) as unknown as StreamEvent]
    citations = citationsIn(last)
    const answer = last.type === 'end' ? texts.end(last) : texts.interrupt(last)
    return [
      ...answer,
      ...textsBehind(requestId, last, files).flatMap((text) => toBlock(toTextBlock(''), { type: 'text_delta', text })),
      ...clientCallsOf(last).flatMap((call) =>
        toBlock(toToolUse({ ...call, input: {} }), { type: 'input_json_delta', partial_json: JSON.stringify(call.input) }),
      ),
      {
        type: 'message_delta',
        delta: { container: null, ...toEndOfMessage(last) },
        usage: toUsage(last, part),
        ...approvalFields(requestId, last),
        ...fileFields(files),
      },
      { type: 'message_stop' },
    ]
  }

  return {
    take(event) {
      if (event.type === 'text' && (showsThinking || event.label === 'answer')) return begin(texts.take(event))
      return begin(texts.interrupt(event))
    },
    last: (event, _number, files) => begin(toEnd(event, files)),
  }
}

/** The events as server-sent events. */
export function streamMessage(head: MessageHead, hasSchema: boolean): RunStream {
  return toStream(messageEventsOf(head, hasSchema), (event) => {
    // Every token of the answer takes this path.
    if (!('type' in event))
      return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${event.index},"delta":{"type":"text_delta","text":${JSON.stringify(event.text)}}}\n\n`
    return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
  })
}

/** Not empty, because clients send thoughts without a signature as text. The service does not read what comes back: a run keeps its thoughts. */
function toSignature(requestId: string): string {
  return Buffer.from(requestId).toString('base64')
}

function toTextForm(index: number, citations: () => object[]): TextForm<StreamEvent> {
  return {
    opening: [{ type: 'content_block_start', index, content_block: toTextBlock('') }],
    delta: (text) => ({ index, text }),
    get closing() {
      const deltas = citations().map((citation) => ({ type: 'content_block_delta', index, delta: { type: 'citations_delta', citation } }))
      return [...deltas, { type: 'content_block_stop', index }]
    },
  }
}

function toThinkingForm(index: number, signature: string): TextForm<StreamEvent> {
  const toDelta = (delta: object) => ({ type: 'content_block_delta', index, delta })
  return {
    opening: [{ type: 'content_block_start', index, content_block: { type: 'thinking', thinking: '', signature: '' } }],
    delta: (thinking) => toDelta({ type: 'thinking_delta', thinking }),
    closing: [toDelta({ type: 'signature_delta', signature }), { type: 'content_block_stop', index }],
  }
}

/** The AI SDK takes no `citations: null`, which the SDK of Anthropic declares. */
function toTextBlock(text: string, citations: object[] = []): Extract<Block, { type: 'text' }> {
  return { type: 'text', text, ...(citations.length > 0 && { citations }) }
}

function toToolUse({ callId, tool: name, input }: ReturnType<typeof clientCallsOf>[number]): Block {
  return { type: 'tool_use', id: `toolu_${callId}`, name, input, caller: { type: 'direct' } }
}

/** The texts behind the answer: what the run waits for, and links to its files. */
function textsBehind(requestId: string, last: LastEvent, files: readonly AnswerFile[] = []): string[] {
  return [waitingText(requestId, last), linksBehind(last, files, 0).text].filter((text) => text !== '')
}

/** The web pages that an answer rests on. */
function citationsIn(last: LastEvent): object[] {
  return toWebCitations(last.type === 'end' ? last.citations : []).map(({ title, url }) => {
    return { type: 'web_search_result_location', cited_text: '', encrypted_index: '', title, url }
  })
}

function toOpenMessage({ requestId, part, model }: MessageHead): object {
  return { id: `msg_${requestId}${partSuffix(part)}`, type: 'message', role: 'assistant', model, container: null, diagnostics: null }
}

/** Tokens are known at the end alone. */
function toStart(head: MessageHead): object {
  const usage = toUsage({ type: 'interrupt', calls: [], usage: [], thoughts: [] }, { before: [], open: [] })
  return { ...toOpenMessage(head), content: [], stop_reason: null, stop_sequence: null, stop_details: null, usage }
}

/**
 * Why a message ends. A run out of time or iterations has its best answer so far, which counts as `max_tokens`. An approval has no reason of its own:
 * with `end_turn` clients end their turn.
 */
function toEndOfMessage(last: LastEvent): object {
  const isRefused = last.type === 'end' && last.reason === 'content_filter'
  return {
    stop_reason: isRefused ? 'refusal' : stopReasonOf(last),
    stop_sequence: null,
    stop_details: isRefused ? { type: 'refusal', category: null, explanation: null } : null,
  }
}

function stopReasonOf(last: LastEvent): string {
  if (last.type === 'interrupt') return clientCallsOf(last).length > 0 ? 'tool_use' : 'end_turn'
  return last.reason === 'stop' ? 'end_turn' : 'max_tokens'
}

function toUsage({ usage }: LastEvent, part: RunPart): object {
  const { input, output, cached, written, reasoning } = tokensSince(usageBefore(part), usage)
  return {
    input_tokens: Math.max(0, input - cached - written),
    output_tokens: output,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written,
    cache_creation: null,
    output_tokens_details: { thinking_tokens: reasoning },
    server_tool_use: null,
    service_tier: null,
    inference_geo: null,
    speed: null,
  }
}
