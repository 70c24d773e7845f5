import type { SharedV4ProviderMetadata, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import { fieldsOf, isDeeper, isObject, maxJsonDepth } from '../../json/shape.ts'

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

/**
 * Items of a reply that a provider wants back unchanged, and that the package cannot write: calls of provider tools, their results, and
 * reasoning. The packages (openai 4.0.118, xai 4, google 4.0) drop most items, or ids and signatures. So an item passes the package as a
 * signature of reasoning, and the `fetch` of the package puts the item in its place.
 */

/** Begins a signature that stands for an item. Signatures of providers are in base64. */
const mark = 'wire-item:'

/** The part of a prompt that stands for an item, for each of the packages. */
export function toCarrier(item: JsonObject): { type: 'reasoning'; text: string; providerOptions: SharedV4ProviderOptions } {
  const signature = mark + JSON.stringify(item)
  const responses = { reasoningEncryptedContent: signature }
  return { type: 'reasoning', text: '', providerOptions: { openai: responses, xai: responses, google: { thoughtSignature: signature } } }
}

/** Puts the items of a request in their places. Another body is returned unchanged. */
export function withItems(body: RequestInit['body']): RequestInit['body'] {
  if (typeof body !== 'string' || !body.includes(mark)) return body
  const fields = fieldsOf(JSON.parse(body))
  replaceIn(fields, 'input')
  for (const content of Array.isArray(fields['contents']) ? fields['contents'] : []) replaceIn(content, 'parts')
  return JSON.stringify(fields)
}

function replaceIn(value: unknown, name: string): void {
  const list = fieldsOf(value)[name]
  if (Array.isArray(list)) (value as Record<string, unknown>)[name] = list.map(toItem)
}

function toItem(value: unknown): unknown {
  const { encrypted_content: sealed, thoughtSignature } = fieldsOf(value)
  const signature = sealed ?? thoughtSignature
  return typeof signature === 'string' && signature.startsWith(mark) ? JSON.parse(signature.slice(mark.length)) : value
}

/** The items in an event of the responses API or of Gemini. */
export function itemsIn(event: unknown): JsonObject[] {
  const { type, item, candidates } = fieldsOf(event)
  const items = type === 'response.output_item.done' ? [item].filter(isWanted) : partsOf(candidates).filter(isRunByGemini)
  return items.filter((value): value is JsonObject => isObject(value) && !isDeeper(value, maxJsonDepth))
}

/** The reasoning in an event of an open model, which the package of OpenAI does not read. */
export function openReasoningIn(event: unknown): string {
  const { type, delta } = fieldsOf(event)
  return type === 'response.reasoning_text.delta' && typeof delta === 'string' ? delta : ''
}

const runByProvider =
  /^(?:compaction|mcp_list_tools|(?:web_search|x_search|file_search|code_interpreter|code_execution|mcp|custom_tool|view_image|view_x_video)_call)$/

/** Reasoning without content is known to a server that stores it only. A made picture is a file of the answer, and too long to go back. */
function isWanted(item: unknown): boolean {
  const { type, encrypted_content: sealed, content } = fieldsOf(item)
  if (type === 'reasoning') return Boolean(sealed) || (Array.isArray(content) && content.length > 0)
  return typeof type === 'string' && runByProvider.test(type)
}

function partsOf(candidates: unknown): unknown[] {
  const { parts } = fieldsOf(fieldsOf(Array.isArray(candidates) ? candidates[0] : undefined)['content'])
  return Array.isArray(parts) ? parts : []
}

/** The parts for which the package reports a call or a result, one for each part. */
function isRunByGemini(part: unknown): boolean {
  const { executableCode, codeExecutionResult, toolCall, toolResponse } = fieldsOf(part)
  return Boolean(fieldsOf(executableCode)['code'] ?? codeExecutionResult ?? toolCall ?? toolResponse)
}

/**
 * A part of a reply in the order of generation, with the signatures that the provider wants back. Text and calls are stored in the message
 * itself: a text part has only its length, and call parts are in the order of the calls.
 */
export type VendorPart =
  | { type: 'reasoning'; text: string; options?: SharedV4ProviderOptions }
  | { type: 'text'; length: number; options?: SharedV4ProviderOptions }
  /** Claude's summary of the turns before. */
  | { type: 'summary'; text: string; options?: SharedV4ProviderOptions }
  | { type: 'call'; options?: SharedV4ProviderOptions }
  /** A call that the provider ran, and its result. */
  | { type: 'provider-call'; id: string; name: string; input: JsonValue; options?: SharedV4ProviderOptions }
  | { type: 'provider-result'; id: string; name: string; output: JsonValue; isError: boolean; options?: SharedV4ProviderOptions }
  /** What the provider wants back as it is, in place of parts of reasoning and calls. */
  | { type: 'item'; item: JsonObject; options?: never }
