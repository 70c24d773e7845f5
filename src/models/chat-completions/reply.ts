import { type ModelEvent, type ModelReply, ModelError } from '../../agent/model.ts'
import { TextBuilder } from '../../agent/answer.ts'
import { isObject } from '../../json/shape.ts'
import { toStreamError, type Origin, checkLength } from '../failures.ts'
import { ReplyParts } from './reply-parts.ts'
import {
  TextChunk,
  toUsage,
  type WireUsage,
  onlyTextOf,
  type WireChoice,
  type WireChunk,
  type WireMessage,
  type WirePart,
} from './wire-chunk.ts'
import { ThinkTags } from './think-tags.ts'
import { toVendor, type ReasoningField, type VendorIdentity } from './vendor-data.ts'

export interface ReplySettings extends VendorIdentity {
  /** The format of speech that the requests ask for. */
  speechFormat?: string | undefined
}

/** Converts a chat-completions stream to events and a reply. Text that arrives before the reader takes an event is merged. */
export class ReplyBuilder {
  /** Characters in pending events. */
  pendingSize = 0
  /** True once part of the answer has arrived. */
  hasBegun = false
  /** True after `[DONE]`. */
  isDone = false

  private readonly settings: ReplySettings
  private readonly origin: Origin
  /** Absent while the text has not begun, or began without a tag. */
  private think: ThinkTags | undefined
  private isPlainText = false
  /** The form of the last chunk with a text and nothing else; absent before. */
  private textChunk: TextChunk | undefined
  /** The form of the last chunk with reasoning and nothing else; absent before. */
  private reasoningChunk: TextChunk | undefined
  private readonly parts: ReplyParts
  private reasoningField: ReasoningField | undefined
  private readonly pending: { type: 'text' | 'reasoning'; text: string }[] = []
  private readonly text = new TextBuilder()
  private readonly reasoning = new TextBuilder()
  private finish: string | undefined
  private usage: WireUsage | undefined
  /** True after a chunk with nothing but the usage. */
  private hasClosingUsage = false
  private size = 0
  /** True after an error that belongs to the answer itself. */
  private isBroken = false

  constructor(settings: ReplySettings, origin: Origin) {
    this.settings = settings
    this.origin = origin
    this.parts = new ReplyParts(origin)
  }

  /** Accepts the data of a server-sent event. Throws `ModelError` for an error event or invalid JSON. */
  accept(data: string): void {
    if (this.isDone || data === '') return
    if (data === '[DONE]') return this.acceptEnd()
    const text = this.textChunk?.textOf(data)
    if (text !== undefined) return this.addText(text)
    const reasoning = this.reasoningChunk?.textOf(data)
    if (reasoning !== undefined) return this.add('reasoning', reasoning)
    const chunk = this.parse(data)
    this.acceptChunk(chunk)
    const only = onlyTextOf(chunk)
    if (only?.field === 'content') this.textChunk = TextChunk.of(data, only.text)
    else if (only) this.reasoningChunk = TextChunk.of(data, only.text, only.field)
  }

  /** Accepts the body of a server that does not stream. Returns false unless the body is a whole completion. */
  acceptWhole(body: string): boolean {
    let chunk: WireChunk
    try {
      chunk = JSON.parse(body) as WireChunk
    } catch {
      return false
    }
    if (!isObject(chunk) || !Array.isArray(chunk.choices) || !isObject(chunk.choices[0]?.message)) return false
    this.acceptChunk(chunk)
    this.finish ??= 'stop'
    this.isDone = true
    return true
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

  /** Returns the complete reply. Throws `ModelError` if the stream ended without a regular finish reason, because calls may be incomplete. */
  toReply(): ModelReply {
    if (this.finish === undefined || brokenFinishes.has(this.finish)) {
      const reason = this.finish === undefined || this.finish === 'error' ? '' : ` (${this.finish})`
      throw new ModelError('unavailable', `${this.origin.label} ended before its answer was complete${reason}`)
    }
    const finish = toFinish(this.finish, this.parts.hasCalls)
    const reply = { text: this.text.toText(), toolCalls: this.parts.toCalls(finish === 'tool_calls'), reasoning: this.reasoning.toText() }
    const vendor = finish === 'stop' || finish === 'tool_calls' ? this.toVendor(reply) : undefined
    return {
      ...reply,
      finish,
      usage: toUsage(this.settings.model, this.usage),
      ...(vendor && { vendor }),
      ...this.parts.toSourcesAndFiles(this.settings.speechFormat),
    }
  }

  /** True once the answer is whole: a later failure can only lose the usage. */
  get isWhole(): boolean {
    return this.finish !== undefined && !brokenFinishes.has(this.finish) && !this.isBroken
  }

  /** Snowflake sends no finish reason, but ends a complete answer with its usage. */
  private acceptEnd(): void {
    this.isDone = true
    if (this.hasClosingUsage) this.finish ??= 'stop'
  }

  private parse(data: string): WireChunk {
    try {
      return (JSON.parse(data) as WireChunk | null) ?? {}
    } catch {
      throw toStreamError(this.origin, 'a chunk is not JSON')
    }
  }

  private acceptChunk(chunk: WireChunk): void {
    const choice = chunk.choices?.[0]
    // OpenRouter ends a broken answer with `length` or `error`, and sends the error with it or behind it.
    this.isBroken = Boolean(chunk.error) && (Boolean(choice?.finish_reason) || (this.finish !== 'stop' && this.finish !== 'tool_calls'))
    if (choice) this.acceptChoice(choice)
    this.hasClosingUsage ||= Boolean(chunk.usage) && !choice
    this.usage = chunk.usage ?? choice?.usage ?? chunk.x_groq?.usage ?? this.usage
    this.parts.acceptSources(chunk)
    if (chunk.error) throw toStreamError(this.origin, chunk.error)
  }

  private acceptChoice({ delta, message, finish_reason: finish }: WireChoice): void {
    const wire = delta ?? message
    if (wire) {
      const { size, reasoning, transcript } = this.parts.accept(wire)
      if (size > 0) this.grow(size)
      this.acceptReasoning(wire, reasoning)
      if (wire.content) this.addContent(wire.content)
      // OpenAI's models refuse a question with a schema in a field of its own.
      if (wire.refusal) this.addText(wire.refusal)
      this.add('text', transcript)
    }
    if (finish) this.finish = finish
  }

  /** OpenRouter sends the text of its details in `reasoning` too. */
  private acceptReasoning({ reasoning_content: content, reasoning }: WireMessage, textOfDetails: string): void {
    const text = content || reasoning
    if (typeof text !== 'string' || text === '') return this.add('reasoning', textOfDetails)
    this.reasoningField ??= content ? 'reasoning_content' : 'reasoning'
    this.add('reasoning', text)
  }

  private addContent(content: string | WirePart[]): void {
    if (typeof content === 'string') return this.addText(content)
    // Mistral's reasoning models send content as parts.
    for (const part of content) {
      if (part.type === 'thinking') {
        this.reasoningField ??= 'thinking'
        this.add('reasoning', (part.thinking ?? []).map((inner) => inner.text ?? '').join(''))
      } else if (part.text) this.addContent(part.text)
    }
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

  private grow(characters: number): void {
    this.hasBegun = true
    this.size += characters
    checkLength(this.size, this.origin)
  }

  private toVendor({ text, toolCalls, reasoning: thoughts }: Pick<ModelReply, 'text' | 'toolCalls' | 'reasoning'>): ModelReply['vendor'] {
    const field = this.reasoningField
    const reasoning = field && { field, text: thoughts }
    const data = { ...(reasoning && { reasoning }), ...this.parts.toVendorData() }
    return toVendor(this.settings, data, { textLength: text.length, callCount: toolCalls.length })
  }
}

/** Finish reasons of an answer that is not whole. DeepSeek sends the second when its servers are full. */
const brokenFinishes = new Set(['error', 'insufficient_system_resource'])

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
