import type { AssistantMessage, JsonValue, ToolCall } from '../../agent/messages.ts'
import { isBlank } from '../blank.ts'
import { parseArguments } from '../call-arguments.ts'
import type { Quirks } from './quirks.ts'
import { readVendor, type VendorData, type VendorIdentity } from './vendor-data.ts'

/** Converts the id of a call to an id that the server accepts. */
export type ToId = (id: string) => string

export interface AssistantForm {
  identity: VendorIdentity
  quirks: Quirks
  toId: ToId
}

/** A message, perhaps with fields of its reasoning. */
interface WireAssistant {
  role: 'assistant'
  content: string | object[] | null
  tool_calls?: object[]
}

/** Converts a message of the model, with the reasoning that the server wants back. Undefined for a message without content. */
export function toWireAssistant(message: AssistantMessage, { identity, quirks, toId }: AssistantForm): WireAssistant | undefined {
  const { text, toolCalls } = message
  if (toolCalls.length === 0 && isBlank(text)) return undefined
  const data = quirks.refusesReasoning ? {} : (readVendor(identity, message) ?? {})
  const content = toContent(text, data)
  const fields: WireAssistant = { ...toReasoning(message, data, quirks, toId), role: 'assistant', content }
  if (toolCalls.length === 0) return fields
  const extras = toExtras(message, data, quirks)
  const calls = toolCalls.map((call, index) => ({
    id: toId(call.id),
    type: 'function',
    // Some servers parse the arguments, and would reject every later request of a session with invalid arguments.
    function: { name: call.name, arguments: parseArguments(call.arguments) ? call.arguments : '{}' },
    extra_content: extras[index] ?? undefined,
  }))
  return { ...fields, tool_calls: calls }
}

/** Several servers refuse a text of white space. Mistral's reasoning stands in the content. */
function toContent(text: string, { reasoning }: VendorData): string | object[] | null {
  if (reasoning?.field !== 'thinking') return isBlank(text) ? null : text
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text: reasoning.text }] }
  return isBlank(text) ? [thinking] : [thinking, { type: 'text', text }]
}

function toReasoning(message: AssistantMessage, { reasoning, details }: VendorData, quirks: Quirks, toId: ToId): object {
  const { toolCalls } = message
  const returned = reasoning && reasoning.field !== 'thinking' ? { [reasoning.field]: reasoning.text } : {}
  const filled = quirks.needsReasoning && !returned['reasoning_content'] ? { reasoning_content: substituteFor(message) } : {}
  // The server knows the calls by the ids of this request, not by the ids that it gave them.
  const values = details?.map(({ value, call }) => (call === undefined ? value : { ...value, id: toId(toolCalls[call]?.id ?? '') }))
  const signed = values ?? (quirks.needsDetails ? toAnyDetails(toolCalls.slice(0, 1), toId) : undefined)
  return { ...returned, ...filled, ...(signed && { reasoning_details: signed }) }
}

/**
 * Reasoning for a message that came without: of another model, or of this model while it did not think. The text differs from message to message,
 * because a model that reads the same text in each of its turns begins to repeat it.
 */
function substituteFor({ reasoning = '', text, toolCalls }: AssistantMessage): string {
  if (!isBlank(reasoning)) return reasoning
  if (toolCalls.length === 0) return `The answer begins: ${text.trim().slice(0, 80)}`
  return `The next step: ${toolCalls.map(({ id, name }) => `${name} (${id})`).join(', ')}`
}

/** Google's documented value for a call without a signature, such as a call of another model. The first call of a message has the signature. */
const noSignature = 'skip_thought_signature_validator'
const anySignature = { google: { thought_signature: noSignature } }

/** The same value in the form in which OpenRouter passes signatures on. */
function toAnyDetails(calls: readonly ToolCall[], toId: ToId): object[] {
  return calls.map(({ id }) => ({ type: 'reasoning.encrypted', data: noSignature, id: toId(id), format: 'google-gemini-v1', index: 0 }))
}

function toExtras({ toolCalls }: AssistantMessage, { calls }: VendorData, quirks: Quirks): JsonValue[] {
  if (calls) return calls
  return quirks.needsSignatures ? [anySignature, ...toolCalls.slice(1).map(() => null)] : []
}
