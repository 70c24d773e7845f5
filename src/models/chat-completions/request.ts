import { createHash } from 'node:crypto'
import type { AssistantMessage, Image, Message, ToolMessage, UserMessage } from '../../agent/messages.ts'
import type { ModelOptions, ModelRequest, ToolChoice, ToolOffer } from '../../agent/model.ts'
import { providers, type ChatCompletionsProvider, type ChatCompletionsTraits } from '../../configuration/providers.ts'
import { toResponseFormat } from './response-format.ts'
import { parseArguments } from '../call-arguments.ts'

/** Settings that are the same in every request of a model. */
export interface RequestSettings {
  provider: ChatCompletionsProvider
  model: string
  temperature?: number
  maxOutputTokens?: number
  reasoningEffort?: string
}

/** Creates the JSON text of a request body. Options of the request replace settings. */
export function toRequestBody(settings: RequestSettings, request: ModelRequest): string {
  const { provider, model } = settings
  const { options = {}, tools } = request
  const traits: ChatCompletionsTraits = providers[provider]
  const { dialect, maxTokensField = 'max_tokens' } = traits
  const system = request.system === '' ? [] : [{ role: 'system', content: request.system }]
  return JSON.stringify({
    model,
    messages: [...system, ...(dialect === 'mistral' ? toMistralMessages : toWireMessages)(request.messages)],
    tools: tools.length > 0 ? tools.map(toWireTool) : undefined,
    ...toToolOptions(options),
    stream: true,
    // Mistral rejects unknown fields, and always sends the usage.
    stream_options: dialect === 'mistral' ? undefined : { include_usage: true },
    temperature: options.temperature ?? settings.temperature,
    top_p: options.topP,
    presence_penalty: options.presencePenalty,
    frequency_penalty: options.frequencyPenalty,
    stop: options.stop,
    [dialect === 'mistral' ? 'random_seed' : 'seed']: options.seed,
    [maxTokensField]: options.maxOutputTokens ?? settings.maxOutputTokens,
    reasoning_effort: options.reasoningEffort ?? settings.reasoningEffort,
    response_format: toResponseFormat(request, traits),
  })
}

function toToolOptions({ toolChoice, parallelToolCalls }: ModelOptions): object {
  return { tool_choice: toWireChoice(toolChoice), parallel_tool_calls: parallelToolCalls }
}

/** `auto` is what a provider does without the field. */
function toWireChoice(choice: ToolChoice | undefined): unknown {
  if (choice === 'auto') return undefined
  return typeof choice === 'object' ? { type: 'function', function: { name: choice.name } } : choice
}

type ToId = (id: string) => string

/** OpenAI allows only text in tool results, so images of results follow the last result of their turn in a message of role `user`. */
function toWireMessages(messages: readonly Message[]): object[] {
  const wire: object[] = []
  let pending: object[] = []
  for (const message of messages) {
    if (message.role === 'user' && pending.length > 0) {
      // Some servers reject two consecutive messages of role `user`.
      wire.push({ role: 'user', content: [...pending, ...toParts(message)] })
      pending = []
      continue
    }
    if (message.role !== 'tool' && pending.length > 0) {
      wire.push({ role: 'user', content: pending })
      pending = []
    }
    wire.push(toWireMessage(message, sameId))
    if (message.role === 'tool' && message.images) pending.push(...toResultParts(message, message.images))
  }
  return pending.length > 0 ? [...wire, { role: 'user', content: pending }] : wire
}

/** Mistral allows images in tool results, and no message of role `user` directly after a result. */
function toMistralMessages(messages: readonly Message[]): object[] {
  return messages.map((message) => {
    if (message.role !== 'tool' || !message.images) return toWireMessage(message, toMistralId)
    const content = [{ type: 'text', text: message.text }, ...message.images.map(toPicture)]
    return { role: 'tool', tool_call_id: toMistralId(message.callId), content }
  })
}

function toWireMessage(message: Message, toId: ToId): object {
  if (message.role === 'user') return { role: 'user', content: message.images?.length ? toParts(message) : message.text }
  if (message.role === 'tool') return { role: 'tool', tool_call_id: toId(message.callId), content: message.text }
  return toWireAssistant(message, toId)
}

function toParts({ text, images = [] }: UserMessage): object[] {
  const pictures = images.map(toPicture)
  return text === '' ? pictures : [{ type: 'text', text }, ...pictures]
}

function toPicture({ mediaType, data }: Image): object {
  return { type: 'image_url', image_url: { url: `data:${mediaType};base64,${data}` } }
}

/** The label attributes the images to the tool, so that the model does not take text in an image for words of the user. */
function toResultParts({ callId, name }: ToolMessage, images: readonly (Image & { name: string })[]): object[] {
  const names = images.map((image) => image.name).join(', ')
  const label = `[Output of the tool ${name} (call ${callId}), not a message of the user: ${names}]`
  return [{ type: 'text', text: label }, ...images.map(toPicture)]
}

const sameId: ToId = (id) => id

function toWireAssistant({ text, toolCalls }: AssistantMessage, toId: ToId): object {
  if (toolCalls.length === 0) return { role: 'assistant', content: text }
  const calls = toolCalls.map((call) => ({
    id: toId(call.id),
    type: 'function',
    // Some servers parse the arguments, and would reject every later request of a session with invalid arguments.
    function: { name: call.name, arguments: parseArguments(call.arguments) ? call.arguments : '{}' },
  }))
  return { role: 'assistant', content: text === '' ? null : text, tool_calls: calls }
}

function toWireTool({ name, description, schema }: ToolOffer): object {
  return { type: 'function', function: { name, description, parameters: schema } }
}

const alphanumerics = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Mistral requires ids of exactly nine letters and digits. The same id is always converted to the same result. */
function toMistralId(id: string): string {
  const hash = createHash('sha256').update(id).digest()
  return Array.from(hash.subarray(0, 9), (byte) => alphanumerics[byte % alphanumerics.length]).join('')
}
