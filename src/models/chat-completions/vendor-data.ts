import type { AssistantMessage, JsonObject, JsonValue } from '../../agent/messages.ts'
import { isObject, isDeeper } from '../../json/shape.ts'

/** What a server wants back with an assistant message, by the fields in which it came. */
export interface VendorData {
  /** Absent if the reasoning came in no field of its own. `thinking`: in the content, as Mistral sends it. */
  reasoning?: { field: ReasoningField; text: string }
  details?: Detail[]
  /** `extra_content` of the calls, in their order; null for a call without it. */
  calls?: JsonValue[]
}

export type ReasoningField = 'reasoning_content' | 'reasoning' | 'thinking'

/** A piece of OpenRouter's reasoning. `call`: the detail has the id of this call, counted from 0. */
export interface Detail {
  value: JsonObject
  call?: number
}

export interface VendorIdentity {
  provider: string
  model: string
}

/** Identifies the data of this wire. */
const form = 'chat-completions'
const fields: readonly unknown[] = ['reasoning_content', 'reasoning', 'thinking'] satisfies ReasoningField[]

type ReplySize = { textLength: number; callCount: number }

/** Packs the data with the size of its reply; undefined without data. */
export function toVendor({ provider, model }: VendorIdentity, data: VendorData, size: ReplySize): AssistantMessage['vendor'] {
  if (!data.reasoning && !data.details && !data.calls) return undefined
  return { provider, model, data: { form, ...size, ...data } as unknown as JsonValue }
}

/**
 * The data of a message that this model made; undefined for a message of another model, a message that has changed, and data of an unknown shape.
 * The loop may take only the first calls of a reply.
 */
export function readVendor({ provider, model }: VendorIdentity, { vendor, text, toolCalls }: AssistantMessage): VendorData | undefined {
  const data = vendor?.data
  if (vendor?.provider !== provider || vendor.model !== model || !isObject(data) || data['form'] !== form) return undefined
  const { textLength, callCount, reasoning, details, calls } = data as Record<string, unknown>
  const count = typeof callCount === 'number' ? callCount : -1
  const isCut = toolCalls.length > 0 && count > toolCalls.length
  if (textLength !== text.length || (count !== toolCalls.length && !isCut)) return undefined
  return {
    ...(isReasoning(reasoning) && { reasoning }),
    ...(isList(details, isDetail) && { details: details.filter(({ call = -1 }) => call < toolCalls.length) }),
    ...(isList(calls, isObjectOrNull) && { calls }),
  }
}

function isReasoning(value: unknown): value is NonNullable<VendorData['reasoning']> {
  return isObject(value) && typeof value['text'] === 'string' && fields.includes(value['field'])
}

function isDetail(value: unknown): value is Detail {
  if (!isObject(value) || !isObject(value['value'])) return false
  const { call } = value
  return call === undefined || (typeof call === 'number' && Number.isInteger(call) && call >= 0)
}

function isObjectOrNull(value: unknown): value is JsonObject | null {
  return value === null || isObject(value)
}

function isList<T>(value: unknown, isItem: (item: unknown) => item is T): value is T[] {
  return Array.isArray(value) && value.every(isItem)
}

/** Limit of details in an answer. Each takes part in every later request. */
const maxDetails = 1000
/** Nesting of a detail. No provider sends more than two levels. */
const maxDepth = 20

/** Assembles OpenRouter's `reasoning_details`: the pieces of a detail have the same index and type. */
export class DetailBuilder {
  private readonly details: JsonObject[] = []
  private readonly last = new Map<string, JsonObject>()

  /** Adds the pieces of a chunk, and returns their text and their number of characters. */
  accept(pieces: unknown): { text: string; size: number } {
    let text = ''
    let size = 0
    for (const piece of Array.isArray(pieces) ? (pieces as JsonValue[]) : []) {
      if (!isObject(piece) || isDeeper(piece, maxDepth)) continue
      size += JSON.stringify(piece).length
      text += textOf(piece)
      this.add(piece)
    }
    return { text, size }
  }

  /** The whole details; undefined for none, or for more than a server can mean. */
  toDetails(): JsonObject[] | undefined {
    return this.details.length > 0 && this.details.length <= maxDetails ? this.details : undefined
  }

  private add(piece: JsonObject): void {
    const key = `${String(piece['type'])} ${String(piece['index'])}`
    const open = this.last.get(key)
    if (open && continues(open, piece)) return merge(open, piece)
    if (this.details.length > maxDetails) return
    const detail = { ...piece }
    this.last.set(key, detail)
    this.details.push(detail)
  }
}

/** A signature and encrypted data end a detail, and a detail has a single id. */
function continues(open: JsonObject, piece: JsonObject): boolean {
  const isOtherId = Boolean(open['id'] && piece['id'] && open['id'] !== piece['id'])
  const isSigned = Boolean(open['signature'] && (piece['signature'] || textOf(piece) !== ''))
  return !isOtherId && !isSigned && !open['data']
}

function merge(open: JsonObject, piece: JsonObject): void {
  for (const [field, value] of Object.entries(piece)) {
    const before = open[field]
    const isText = field === 'text' || field === 'summary'
    if (isText && typeof before === 'string' && typeof value === 'string') open[field] = before + value
    else if (value !== null) open[field] = value
  }
}

function textOf({ text, summary }: JsonObject): string {
  if (typeof text === 'string') return text
  return typeof summary === 'string' ? summary : ''
}
