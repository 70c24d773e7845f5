import { createHash } from 'node:crypto'
import type { AssistantMessage, Message, UserMessage } from '../../agent/messages.ts'
import type { ModelRequest, ToolOffer } from '../../agent/model.ts'
import { parseArguments } from '../call-arguments.ts'

/** The servers that speak chat completions, each in its own way. */
export type ChatCompletionsProvider = 'openai' | 'azure' | 'mistral' | 'openai-compatible'

/** What stays the same in every request of a model. */
export interface RequestSettings {
  provider: ChatCompletionsProvider
  model: string
  temperature?: number
  maxOutputTokens?: number
  reasoningEffort?: string
}

/** The JSON text of a request's body. */
export function toRequestBody(settings: RequestSettings, request: ModelRequest): string {
  const { provider, model, temperature, maxOutputTokens, reasoningEffort } = settings
  const toId = provider === 'mistral' ? toMistralId : (id: string) => id
  const system = request.system === '' ? [] : [{ role: 'system', content: request.system }]
  return JSON.stringify({
    model,
    messages: [...system, ...request.messages.map((message) => toWireMessage(message, toId))],
    tools: request.tools.length > 0 ? request.tools.map(toWireTool) : undefined,
    stream: true,
    // Mistral refuses what it does not know, and sends the usage anyway.
    stream_options: provider === 'mistral' ? undefined : { include_usage: true },
    temperature,
    [provider === 'openai' || provider === 'azure' ? 'max_completion_tokens' : 'max_tokens']: maxOutputTokens,
    reasoning_effort: reasoningEffort,
  })
}

type ToId = (id: string) => string

function toWireMessage(message: Message, toId: ToId): object {
  if (message.role === 'user') return { role: 'user', content: toContent(message) }
  if (message.role === 'tool') return { role: 'tool', tool_call_id: toId(message.callId), content: message.text }
  return toWireAssistant(message, toId)
}

function toContent({ text, images = [] }: UserMessage): string | object[] {
  if (images.length === 0) return text
  const pictures = images.map(({ mediaType, data }) => ({ type: 'image_url', image_url: { url: `data:${mediaType};base64,${data}` } }))
  return text === '' ? pictures : [{ type: 'text', text }, ...pictures]
}

function toWireAssistant({ text, toolCalls }: AssistantMessage, toId: ToId): object {
  if (toolCalls.length === 0) return { role: 'assistant', content: text }
  const calls = toolCalls.map((call) => ({
    id: toId(call.id),
    type: 'function',
    // Some servers read the arguments and would refuse the whole session for what a model once wrote wrong.
    function: { name: call.name, arguments: parseArguments(call.arguments) ? call.arguments : '{}' },
  }))
  return { role: 'assistant', content: text === '' ? null : text, tool_calls: calls }
}

function toWireTool({ name, description, schema }: ToolOffer): object {
  return { type: 'function', function: { name, description, parameters: schema } }
}

const alphanumerics = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Mistral takes ids of exactly nine letters and digits; the same id always becomes the same. */
function toMistralId(id: string): string {
  const hash = createHash('sha256').update(id).digest()
  return Array.from(hash.subarray(0, 9), (byte) => alphanumerics[byte % alphanumerics.length]).join('')
}
