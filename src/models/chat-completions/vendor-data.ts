import type { AssistantMessage, JsonObject, JsonValue } from '../../agent/messages.ts'
import { isObject } from '../../json/shape.ts'

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
