import type { SharedV4ProviderMetadata } from '@ai-sdk/provider'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { VendorPart } from './prompt.ts'

/** Characters of calls and items of a reply that are kept for later requests. Above this limit a later request has the text alone. */
const maxKept = 1_000_000

/** The parts of one reply in the order of generation, as later requests need them. */
export class KeptParts {
  private readonly parts: VendorPart[] = []
  /** Unfinished parts by their id in the SDK. */
  private readonly open = new Map<string, VendorPart>()
  /** Items of Gemini whose calls and results the package has not reported yet. */
  private readonly waiting: JsonObject[] = []
  private readonly isOnResponses: boolean

  /** On the responses API, items stand for reasoning and for what the provider runs. */
  constructor(isOnResponses: boolean) {
    this.isOnResponses = isOnResponses
  }

  start(key: string, part: VendorPart, metadata: SharedV4ProviderMetadata | undefined): void {
    if (!this.isOnResponses || part.type !== 'reasoning') this.parts.push(part)
    this.open.set(key, part)
    this.sign(key, metadata)
  }

  /** Stores a signature, which arrives with the start, a delta or the end of its part. */
  sign(key: string, metadata: SharedV4ProviderMetadata | undefined): VendorPart | undefined {
    const part = this.open.get(key)
    if (part && metadata) part.options = { ...part.options, ...metadata }
    return part
  }

  /** A text of Claude may be a summary of the turns before. */
  startText(key: string, metadata: SharedV4ProviderMetadata | undefined): void {
    const isSummary = metadata?.['anthropic']?.['type'] === 'compaction'
    this.start(key, isSummary ? { type: 'summary', text: '' } : { type: 'text', length: 0 }, metadata)
  }

  /**
   * Adds a piece of a text. Gemini writes on in the same text behind its calls, where a part of its own begins. Returns false for a summary,
   * which is no part of the answer.
   */
  addText(key: string, piece: string, metadata: SharedV4ProviderMetadata | undefined): boolean {
    if (piece !== '' && isRun(this.parts.at(-1))) this.start(key, { type: 'text', length: 0 }, undefined)
    const part = this.sign(key, metadata)
    if (part?.type === 'summary') part.text += piece
    if (part?.type === 'text') part.length += piece.length
    return part?.type !== 'summary'
  }

  /** Adds a call that the provider runs, or its result. An item of the wire takes the place of either. */
  addRun(part: VendorPart): void {
    if (this.isOnResponses) return
    const item = this.waiting.shift()
    this.parts.push(item ? { type: 'item', item } : part)
  }

  /** Adds items of the wire. Those of Gemini get the place of the calls and results that the package reports for them. */
  addItems(items: readonly JsonObject[]): void {
    if (this.isOnResponses) this.parts.push(...items.map((item): VendorPart => ({ type: 'item', item })))
    else this.waiting.push(...items)
  }

  /** All parts, for a reply that goes on. */
  get all(): VendorPart[] {
    return this.parts
  }

  /** What is stored with the message; undefined where the text and the calls alone say the same, and where the rest is too long. */
  toData(unfinished: ReadonlySet<VendorPart>): JsonValue | undefined {
    const parts = this.parts.filter((part) => !unfinished.has(part))
    const isNeeded = parts.some(({ type, options }) => options !== undefined || type === 'provider-call' || type === 'item')
    const size = parts.filter(isRun).reduce((sum, part) => sum + JSON.stringify(part).length, 0)
    return isNeeded && size <= maxKept ? (parts as unknown as JsonValue) : undefined
  }
}

/** Whether a part is of the provider's own calls. */
function isRun(part: VendorPart | undefined): boolean {
  return part?.type === 'provider-call' || part?.type === 'provider-result' || part?.type === 'item'
}
