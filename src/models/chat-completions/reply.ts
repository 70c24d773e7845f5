import type { ModelEvent, ModelReply, ModelUsage } from '../../agent/model.ts'
import { ModelError } from '../../agent/model.ts'
import { TextBuilder } from '../../agent/text-builder.ts'
import { CallBuilder, type WireCall } from './calls.ts'
import { toStreamError, type Origin } from '../failures.ts'
import { checkCallCount, toTokenCount } from '../reply-limits.ts'
import { TextChunk } from './text-chunk.ts'
import { ThinkTags } from './think-tags.ts'

/** Limit of an answer, so that an endless answer cannot fill the memory. */
const maxCharacters = 16 * 1024 * 1024

/** Converts a chat-completions stream to events and a reply. Text that arrives before the reader takes an event is merged. */
export class ReplyBuilder {
  /** Characters in pending events. */
  pendingSize = 0
  /** True once part of the answer has arrived. */
  hasBegun = false
  /** True after `[DONE]`. */
  isDone = false

  private readonly model: string
  private readonly origin: Origin
  /** Absent while the text has not begun, or began without a tag. */
  private think: ThinkTags | undefined
  private isPlainText = false
  /** The form of the last chunk with a text and nothing else; absent before. */
  private textChunk: TextChunk | undefined
  /** Absent before the first tool call. */
  private calls: CallBuilder | undefined
  private readonly pending: { type: 'text' | 'reasoning'; text: string }[] = []
  private readonly text = new TextBuilder()
  private readonly reasoning = new TextBuilder()
  private finish: string | undefined
  private usage: WireUsage | undefined
  private size = 0

  constructor(model: string, origin: Origin) {
    this.model = model
    this.origin = origin
  }

  /** Accepts the data of a server-sent event. Throws `ModelError` for an error event or invalid JSON. */
  accept(data: string): void {
    if (this.isDone || data === '') return
    if (data === '[DONE]') {
      this.isDone = true
      return
    }
    const text = this.textChunk?.textOf(data)
    if (text !== undefined) return this.addText(text)
    const chunk = this.parse(data)
    const choice = chunk.choices?.[0]
    if (choice) this.acceptChoice(choice)
    if (chunk.usage) this.usage = chunk.usage
    if (chunk.error) throw toStreamError(this.origin, chunk.error)
    const onlyText = onlyTextOf(chunk)
    if (onlyText !== undefined) this.textChunk = TextChunk.of(data, onlyText)
  }

  /** Returns the next event, or undefined until more data arrives. */
  take(): ModelEvent | undefined {
    const event = this.pending.shift()
    if (event === undefined) return undefined
    if (event.type === 'text') this.text.add(event.text)
    else this.reasoning.add(event.text)
    this.pendingSize -= event.text.length
    return event
  }

  /** Ends the stream: text held back for a possible tag becomes an event. */
  end(): void {
    if (!this.think || this.think.isPast) return
    const { reasoning, text } = this.think.rest()
    this.add('reasoning', reasoning)
    this.add('text', text)
  }

  /** Returns the complete reply. Throws `ModelError` if the stream ended without a finish reason, because calls may be incomplete. */
  toReply(): ModelReply {
    if (this.finish === undefined || this.finish === 'error') {
      throw new ModelError('unavailable', `${this.origin.label} ended before its answer was complete`)
    }
    const finish = toFinish(this.finish, this.calls !== undefined)
    return {
      text: this.text.toText(),
      reasoning: this.reasoning.toText(),
      toolCalls: this.calls?.toCalls(finish === 'tool_calls') ?? [],
      finish,
      usage: toUsage(this.model, this.usage),
    }
  }

  get hasFinish(): boolean {
    return this.finish !== undefined
  }

  private parse(data: string): WireChunk {
    try {
      return (JSON.parse(data) as WireChunk | null) ?? {}
    } catch {
      throw toStreamError(this.origin, 'a chunk is not JSON')
    }
  }

  private acceptChoice({ delta, finish_reason }: WireChoice): void {
    if (delta) {
      const reasoning = delta.reasoning_content ?? delta.reasoning
      if (reasoning) this.add('reasoning', reasoning)
      if (delta.content) this.addContent(delta.content)
      // OpenAI's models refuse a question with a schema in a field of its own.
      if (delta.refusal) this.addText(delta.refusal)
      if (delta.tool_calls) this.addCalls(delta.tool_calls)
    }
    if (finish_reason) this.finish = finish_reason
  }

  private addContent(content: string | WirePart[]): void {
    if (typeof content !== 'string') {
      // Mistral's reasoning models send content as parts.
      for (const part of content) {
        if (part.type === 'thinking') this.add('reasoning', (part.thinking ?? []).map((inner) => inner.text ?? '').join(''))
        else if (part.text) this.addContent(part.text)
      }
    } else this.addText(content)
  }

  /** Only a text that may begin with a tag is split. */
  private addText(content: string): void {
    this.isPlainText ||= !this.think && isWithoutTag(content)
    if (this.isPlainText || this.think?.isPast) return this.add('text', content)
    this.think ??= new ThinkTags()
    const { reasoning, text } = this.think.split(content)
    this.add('reasoning', reasoning)
    this.add('text', text)
  }

  private add(type: 'text' | 'reasoning', text: string): void {
    if (text === '') return
    this.grow(text.length)
    this.pendingSize += text.length
    const last = this.pending.at(-1)
    if (last?.type === type) last.text += text
    else this.pending.push({ type, text })
  }

  private addCalls(deltas: WireCall[]): void {
    if (deltas.length === 0) return
    const calls = (this.calls ??= new CallBuilder())
    for (const delta of deltas) this.grow(calls.accept(delta))
    checkCallCount(calls.count, this.origin)
  }

  private grow(characters: number): void {
    this.hasBegun = true
    this.size += characters
    if (this.size > maxCharacters) throw toStreamError(this.origin, 'the answer is too long')
  }
}

/** The text of a chunk with a text and nothing else; undefined for any other chunk. */
function onlyTextOf({ choices, usage, error }: WireChunk): string | undefined {
  const { delta, finish_reason: finish } = choices?.[0] ?? {}
  if (!delta || typeof delta.content !== 'string' || delta.content === '' || choices?.length !== 1 || usage || error || finish)
    return undefined
  return delta.refusal || delta.reasoning_content || delta.reasoning || delta.tool_calls ? undefined : delta.content
}

/** True when the beginning of a text shows that no tag precedes the text. */
function isWithoutTag(beginning: string): boolean {
  const start = beginning.trimStart()
  return start !== '' && !start.startsWith('<')
}

function toFinish(reason: string, hasCalls: boolean): ModelReply['finish'] {
  // Mistral sends `model_length` for a full context.
  if (reason === 'length' || reason === 'max_tokens' || reason === 'model_length') return 'length'
  if (reason === 'content_filter') return 'content_filter'
  // Some servers send `stop` after tool calls, or `tool_calls` without a call.
  return hasCalls ? 'tool_calls' : 'stop'
}

function toUsage(model: string, usage: WireUsage | undefined): ModelUsage {
  return {
    model,
    input: toTokenCount(usage?.prompt_tokens),
    output: toTokenCount(usage?.completion_tokens),
    cachedInput: toTokenCount(usage?.prompt_tokens_details?.cached_tokens),
    reasoning: toTokenCount(usage?.completion_tokens_details?.reasoning_tokens),
  }
}

interface WireChunk {
  choices?: WireChoice[] | null
  usage?: WireUsage | null
  error?: unknown
}

interface WireChoice {
  delta?: {
    content?: string | WirePart[] | null
    refusal?: string | null
    reasoning_content?: string | null
    reasoning?: string | null
    tool_calls?: WireCall[] | null
  } | null
  finish_reason?: string | null
}

interface WirePart {
  type: string
  text?: string
  thinking?: { text?: string }[]
}

interface WireUsage {
  prompt_tokens?: number
  completion_tokens?: number
  prompt_tokens_details?: { cached_tokens?: number } | null
  completion_tokens_details?: { reasoning_tokens?: number } | null
}
