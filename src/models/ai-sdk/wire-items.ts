import type { SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { JsonObject } from '../../agent/messages.ts'
import { fieldsOf, isDeeper, isObject, maxJsonDepth } from '../../json/shape.ts'

/**
 * Items of a reply that a provider wants back as they are, and that its package cannot write: calls that the provider ran, their results, and
 * reasoning. The packages (openai 4.0.118, xai 4, google 4.0) drop most of them, or their ids and signatures. So an item passes the package as a
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
