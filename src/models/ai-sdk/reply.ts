import type {
  LanguageModelV4File,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
  LanguageModelV4FinishReason,
} from '@ai-sdk/provider'
import {
  addUsage,
  ModelError,
  type ModelEvent,
  type ModelFile,
  type ModelReply,
  type RequestedCall,
  type ToolOffer,
} from '../../agent/model.ts'
import type { Provider } from '../../configuration/providers.ts'
import { TextBuilder } from '../../agent/answer.ts'
import { KeptParts, itemsIn, openReasoningIn } from './kept-parts.ts'
import { PlacedSources } from './placed-sources.ts'
import { toPausedContent } from './prompt.ts'
import { ProviderCalls } from './provider-calls.ts'
import { isOnResponses } from './call-options.ts'
import { toStreamError, type Origin, checkCallCount, maxCharacters, toLengthError } from '../failures.ts'
import { fromSdkUsage } from '../usage.ts'

/** Files of an answer that are kept, and their characters in base64. */
const maxFiles = 50
const maxFileCharacters = 64 * 1024 * 1024

/** Converts the stream parts of an AI SDK provider to events and a reply. */
export class PartCollector {
  /** True once part of the answer has arrived. */
  hasBegun = false
  private readonly origin: Origin
  private readonly provider: Provider
  private readonly calls: RequestedCall[] = []
  private readonly parts: KeptParts
  private readonly text = new TextBuilder()
  private readonly reasoning = new TextBuilder()
  private readonly sources = new PlacedSources()
  private textLength = 0
  private readonly files: ModelFile[] = []
  private fileSize = 0
  /** Characters that have arrived. */
  size = 0
  private readonly ofProvider: ProviderCalls
  /** Usage of the parts of a reply that the provider paused. */
  private readonly earlier: LanguageModelV4Usage[] = []
  private end: Extract<LanguageModelV4StreamPart, { type: 'finish' }> | undefined

  /** `offers` are the tools of the request. */
  constructor(origin: Origin, provider: Provider, offers: readonly ToolOffer[]) {
    this.origin = origin
    this.provider = provider
    this.parts = new KeptParts(isOnResponses(provider))
    this.ofProvider = new ProviderCalls(offers)
  }

  /** Accepts a part and returns its event, if any. Throws `ModelError` for an error part. */
  accept(part: LanguageModelV4StreamPart): ModelEvent | undefined {
    switch (part.type) {
      case 'text-start':
        this.parts.startText(`text ${part.id}`, part.providerMetadata)
        this.sources.startText(part.id, this.textLength)
        return undefined
      case 'text-delta':
        return this.acceptText(part.id, part.delta, part.providerMetadata)
      case 'text-end':
        this.parts.sign(`text ${part.id}`, part.providerMetadata)
        this.sources.endText(part.id, part.citations, this.textLength)
        return undefined
      case 'reasoning-start':
        this.parts.start(`reasoning ${part.id}`, { type: 'reasoning', text: '' }, part.providerMetadata)
        return undefined
      case 'reasoning-delta':
        return this.acceptReasoning(part.id, part.delta, part.providerMetadata)
      case 'reasoning-end':
        this.parts.sign(`reasoning ${part.id}`, part.providerMetadata)
        return undefined
      case 'tool-input-start':
        this.hasBegun = true
        return undefined
      case 'tool-input-delta':
        this.grow(part.delta.length)
        return undefined
      case 'tool-call':
        return this.acceptCall(part)
      case 'tool-result':
        return part.preliminary === true ? undefined : this.acceptResult(part)
      case 'tool-approval-request':
        throw new ModelError('refused', `${this.origin.label} wants an approval for a call that it runs itself, which nobody can give`)
      case 'source':
        this.sources.accept(part)
        return undefined
      case 'file':
        this.acceptFile(part)
        return undefined
      case 'raw':
        return this.acceptRaw(part.rawValue)
      case 'error':
        throw toStreamError(this.origin, part.error)
      case 'finish':
        this.end = part
        return undefined
      default:
        return undefined
    }
  }

  /** The events that are known at the end of the stream only. */
  lateEvents(): ModelEvent[] {
    return this.ofProvider.searches(this.end?.providerMetadata)
  }

  /** Goes on with a reply that the provider has paused: returns what there is of the reply, for the next request, or undefined at its end. */
  resume(): LanguageModelV4Message | undefined {
    const { raw = '' } = this.end?.finishReason ?? {}
    if (!this.end || !pauses.has(raw) || this.calls.length > 0) return undefined
    this.earlier.push(this.end.usage)
    this.end = undefined
    return toPausedContent(this.text.toText(), this.parts.all)
  }

  /** Tokens of output before the pauses. */
  get earlierOutput(): number {
    return this.earlier.reduce((sum, { outputTokens }) => sum + (outputTokens.total ?? 0), 0)
  }

  /** Returns the complete reply. Throws `ModelError` if the stream ended without a finish reason, because calls may be incomplete. */
  toReply(model: string): ModelReply {
    const finish = this.end && toFinish(this.end.finishReason, this.calls.length > 0)
    if (!this.end || !finish) throw new ModelError('unavailable', `${this.origin.label} ended before its answer was complete`)
    // Signed parts are sent back unchanged, so they must not include incomplete calls of a cut-off reply.
    const isWhole = finish === 'stop' || finish === 'tool_calls'
    const data = isWhole ? this.parts.toData(this.ofProvider.unfinished) : undefined
    const text = this.text.toText()
    const sources = this.sources.toSources(text, this.end.providerMetadata)
    return {
      text,
      reasoning: this.reasoning.toText(),
      toolCalls: isWhole ? this.calls : [],
      finish,
      usage: [...this.earlier, this.end.usage].map((usage) => fromSdkUsage(model, usage)).reduce(addUsage),
      ...(sources && { sources }),
      ...(this.files.length > 0 && { files: this.files }),
      ...(data !== undefined && { vendor: { provider: this.provider, model, data } }),
    }
  }

  private acceptText(id: string, delta: string, metadata: SharedV4ProviderMetadata | undefined): ModelEvent | undefined {
    const isAnswer = this.parts.addText(`text ${id}`, delta, metadata)
    if (delta === '') return undefined
    this.grow(delta.length)
    if (!isAnswer) return undefined
    this.text.add(delta)
    this.textLength += delta.length
    return { type: 'text', text: delta }
  }

  private acceptReasoning(id: string, delta: string, metadata: SharedV4ProviderMetadata | undefined): ModelEvent | undefined {
    const open = this.parts.sign(`reasoning ${id}`, metadata)
    if (delta === '') return undefined
    this.grow(delta.length)
    this.reasoning.add(delta)
    if (open?.type === 'reasoning') open.text += delta
    return { type: 'reasoning', text: delta }
  }

  /** Reads from an event of the wire what the package leaves out. */
  private acceptRaw(event: unknown): ModelEvent | undefined {
    this.parts.addItems(itemsIn(event))
    this.sources.acceptRaw(event)
    // The package of xAI reads such reasoning itself.
    const text = this.provider === 'xai' ? '' : openReasoningIn(event)
    if (text === '') return this.ofProvider.acceptRaw(event)
    this.grow(text.length)
    this.reasoning.add(text)
    return { type: 'reasoning', text }
  }

  private acceptCall(part: LanguageModelV4ToolCall): ModelEvent | undefined {
    this.hasBegun = true
    if (part.providerExecuted === true) {
      this.grow(part.input.length)
      const started = this.ofProvider.start(part)
      if (started.isRepeated !== true) this.parts.addRun(started.part)
      return started.event
    }
    this.parts.start(`call ${part.toolCallId}`, { type: 'call' }, part.providerMetadata)
    this.calls.push({ name: part.toolName, arguments: part.input })
    checkCallCount(this.calls.length, this.origin)
    return undefined
  }

  private acceptResult(part: Extract<LanguageModelV4StreamPart, { type: 'tool-result' }>): ModelEvent {
    const { event, part: kept, file } = this.ofProvider.end(part)
    this.grow(JSON.stringify(event.output).length)
    this.parts.addRun(kept)
    if (file) this.addFile(file)
    return event
  }

  /** An address is not followed: only the bytes of a picture or of speech become a file of the answer. */
  private acceptFile({ mediaType, data }: LanguageModelV4File): void {
    if (data.type !== 'data') return
    this.hasBegun = true
    const bytes = typeof data.data === 'string' ? data.data : Buffer.from(data.data).toString('base64')
    this.addFile({ mediaType, data: bytes })
  }

  private addFile(file: ModelFile): void {
    if (this.files.length >= maxFiles || this.fileSize + file.data.length > maxFileCharacters) return
    this.fileSize += file.data.length
    this.files.push(file)
  }

  private grow(characters: number): void {
    this.hasBegun = true
    this.size += characters
    if (this.size > maxCharacters) throw toLengthError(this.origin)
  }
}

/** Ends of Claude behind which the reply goes on. */
const pauses = new Set(['pause_turn', 'compaction'])

/** Ends of a model that has failed at its own call: another attempt may succeed. */
const brokenEnds = new Set([
  'UNEXPECTED_TOOL_CALL',
  'MALFORMED_FUNCTION_CALL',
  'MALFORMED_RESPONSE',
  'malformed_tool_use',
  'malformed_model_output',
])

/** How a reply ended; undefined for a reply that is not whole. */
function toFinish({ unified, raw }: LanguageModelV4FinishReason, hasCalls: boolean): ModelReply['finish'] | undefined {
  if (raw !== undefined && brokenEnds.has(raw)) return undefined
  if (unified === 'length') return 'length'
  // The package (google 4.0) does not know this filter.
  if (unified === 'content-filter' || raw === 'MODEL_ARMOR') return 'content_filter'
  if (unified === 'stop' || unified === 'tool-calls') return hasCalls ? 'tool_calls' : 'stop'
  // A finish reason unknown to the SDK is a regular end. A stream without a finish reason broke off.
  return unified === 'other' && raw !== undefined ? (hasCalls ? 'tool_calls' : 'stop') : undefined
}
