import { type ModelEvent, type ModelReply, ModelError } from '../../agent/model.ts'
import { TextBuilder } from '../../agent/answer.ts'
import { isObject } from '../../json/shape.ts'
import { toLengthError, toStreamError, type Origin, maxCharacters } from '../failures.ts'
import { fromWireUsage, type WireUsage } from '../usage.ts'
import { ReplyParts } from './reply-parts.ts'
import { ThinkTags } from './think-tags.ts'
import { toVendor, type ReasoningField, type VendorIdentity } from './vendor-data.ts'
import type { WireChunk, WireMessage, WirePart } from './wire-chunk.ts'

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
  /** Absent for a reply of text and reasoning alone. */
  private parts: ReplyParts | undefined
  private reasoningField: ReasoningField | undefined
  private readonly pending: { type: 'text' | 'reasoning'; text: string }[] = []
  private readonly text = new TextBuilder()
  private readonly reasoning = new TextBuilder()
  private finish: string | undefined
  private usage: WireUsage | undefined
  /** True after a chunk with nothing but the usage. */
  private hasClosingUsage = false
  /** Characters that have arrived. */
  size = 0
  /** True after an error that belongs to the answer itself. */
  private isBroken = false

  constructor(settings: ReplySettings, origin: Origin) {
    this.settings = settings
    this.origin = origin
  }

  /** Accepts the data of a server-sent event. Throws `ModelError` for an error event or invalid JSON. */
  accept(data: string): void {
    if (this.isDone || data === '') return
    if (data === '[DONE]') {
      this.isDone = true
      // Snowflake sends no finish reason, but ends a complete answer with its usage.
      if (this.hasClosingUsage) this.finish ??= 'stop'
      return
    }
    const text = this.textChunk?.textOf(data)
    if (text !== undefined) return this.addText(text)
    const reasoning = this.reasoningChunk?.textOf(data)
    if (reasoning !== undefined) return this.add('reasoning', reasoning)
    let chunk: WireChunk
    try {
      chunk = (JSON.parse(data) as WireChunk | null) ?? {}
    } catch {
      throw toStreamError(this.origin, 'a chunk is not JSON')
    }
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
    const { settings, parts, reasoningField: field } = this
    if (this.finish === undefined || brokenFinishes.has(this.finish)) {
      const reason = this.finish === undefined || this.finish === 'error' ? '' : ` (${this.finish})`
      throw new ModelError('unavailable', `${this.origin.label} ended before its answer was complete${reason}`)
    }
    const finish = toFinish(this.finish, parts?.hasCalls === true)
    const text = this.text.toText()
    const toolCalls = parts?.toCalls(finish === 'tool_calls') ?? []
    const reasoning = this.reasoning.toText()
    const isSentBack = (field || parts) && (finish === 'stop' || finish === 'tool_calls')
    const data = isSentBack && { ...(field && { reasoning: { field, text: reasoning } }), ...parts?.toVendorData() }
    const vendor = data && toVendor(settings, data, { textLength: text.length, callCount: toolCalls.length })
    return {
      text,
      toolCalls,
      reasoning,
      finish,
      usage: fromWireUsage(settings.model, this.usage),
      ...(vendor && { vendor }),
      ...parts?.toSourcesAndFiles(settings.speechFormat),
    }
  }

  /** True once the answer is whole: a later failure can only lose the usage. */
  get isWhole(): boolean {
    return this.finish !== undefined && !brokenFinishes.has(this.finish) && !this.isBroken
  }

  private acceptChunk(chunk: WireChunk): void {
    const choice = chunk.choices?.[0]
    // OpenRouter ends a broken answer with `length` or `error`, and sends the error with it or behind it.
    this.isBroken = Boolean(chunk.error) && (Boolean(choice?.finish_reason) || (this.finish !== 'stop' && this.finish !== 'tool_calls'))
    const message = choice?.delta ?? choice?.message
    if (message) this.acceptMessage(message)
    if (choice?.finish_reason) this.finish = choice.finish_reason
    this.hasClosingUsage ||= Boolean(chunk.usage) && !choice
    this.usage = chunk.usage ?? choice?.usage ?? chunk.x_groq?.usage ?? this.usage
    if (chunk.citations || chunk.search_results) (this.parts ??= new ReplyParts(this.origin)).acceptSources(chunk)
    if (chunk.error) throw toStreamError(this.origin, chunk.error)
  }

  private acceptMessage(wire: WireMessage): void {
    const { content, refusal, reasoning_content: reasoningContent } = wire
    const hasParts = wire.tool_calls || wire.reasoning_details || wire.annotations || wire.images || wire.audio
    const beside = hasParts ? (this.parts ??= new ReplyParts(this.origin)).accept(wire) : undefined
    if (beside && beside.size > 0) this.grow(beside.size)
    const reasoning = reasoningContent || wire.reasoning
    if (typeof reasoning === 'string' && reasoning !== '') {
      this.reasoningField ??= reasoningContent ? 'reasoning_content' : 'reasoning'
      this.add('reasoning', reasoning)
      // OpenRouter sends the text of its details in `reasoning` too.
    } else if (beside) this.add('reasoning', beside.reasoning)
    if (typeof content === 'string' && content !== '') this.addText(content)
    else if (content) this.addParts(content)
    // OpenAI's models refuse a question with a schema in a field of its own.
    if (refusal) this.addText(refusal)
    if (beside) this.add('text', beside.transcript)
  }

  /** Mistral's reasoning models send content as parts. */
  private addParts(content: readonly WirePart[]): void {
    for (const part of content) {
      if (part.type === 'thinking') {
        this.reasoningField ??= 'thinking'
        this.add('reasoning', (part.thinking ?? []).map((inner) => inner.text ?? '').join(''))
      } else if (part.text) this.addText(part.text)
    }
  }

  /** Splits only a text that may begin with a tag. */
  private addText(content: string): void {
    if (!this.isPlainText && !this.think) {
      const start = content.trimStart()
      this.isPlainText = start !== '' && !start.startsWith('<')
    }
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
    if (this.size > maxCharacters) throw toLengthError(this.origin)
  }
}

/** Finish reasons of an answer that is not whole. DeepSeek sends the second when its servers are full. */
const brokenFinishes = new Set(['error', 'insufficient_system_resource'])

function toFinish(reason: string, hasCalls: boolean): ModelReply['finish'] {
  // Mistral sends `model_length` for a full context.
  if (reason === 'length' || reason === 'max_tokens' || reason === 'model_length') return 'length'
  if (reason === 'content_filter') return 'content_filter'
  // Some servers send `stop` after tool calls, or `tool_calls` without a call.
  return hasCalls ? 'tool_calls' : 'stop'
}

type TextField = 'content' | 'reasoning_content' | 'reasoning'

/**
 * The text and its field in a chunk with a text and nothing else; undefined for any other chunk. A field of the message counts as empty when it is
 * null, an empty text or an empty list.
 */
function onlyTextOf({ choices, usage, x_groq: groq, error }: WireChunk): { field: TextField; text: string } | undefined {
  const choice = choices?.[0]
  if (!choice?.delta || choices?.length !== 1 || usage || groq || error || choice.finish_reason || choice.usage) return undefined
  let only: { field: TextField; text: string } | undefined
  for (const [field, value] of Object.entries(choice.delta)) {
    if (field === 'role' || value == null || value === '' || (Array.isArray(value) && value.length === 0)) continue
    const isText = typeof value === 'string' && (field === 'content' || field === 'reasoning_content' || field === 'reasoning')
    if (!isText || only) return undefined
    only = { field, text: value }
  }
  return only
}

/** Characters that end or change a JSON string. */
// oxlint-disable-next-line no-control-regex
const special = /["\\\u0000-\u001f]/

/**
 * Reads chunks that differ from an earlier chunk only in their text. Servers send the same JSON for each token except for the text, and
 * parsing the whole chunk costs ten times as much as cutting the text out. Between the same characters, a text without quotes, escapes and
 * control characters makes the same object with another text.
 */
export class TextChunk {
  private readonly before: string
  private readonly after: string

  private constructor(before: string, after: string) {
    this.before = before
    this.after = after
  }

  /** The form of a chunk whose only content is `text` in the field `name`; undefined when the text cannot be located safely. */
  static of(data: string, text: string, name = 'content'): TextChunk | undefined {
    const field = `"${name}"`
    const opening = `${field}:"`
    const at = data.indexOf(field)
    const start = at + opening.length
    const isOnly = at >= 0 && !data.includes(field, start)
    if (!isOnly || special.test(text) || !data.startsWith(`${opening}${text}"`, at)) return undefined
    return new TextChunk(data.slice(0, start), data.slice(start + text.length))
  }

  /** The text of a chunk of this form; undefined for any other chunk. */
  textOf(data: string): string | undefined {
    const { before, after } = this
    if (data.length < before.length + after.length || !data.startsWith(before) || !data.endsWith(after)) return undefined
    const text = data.slice(before.length, data.length - after.length)
    return special.test(text) ? undefined : text
  }
}
