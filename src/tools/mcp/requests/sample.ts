import type { CreateMessageResult } from '@modelcontextprotocol/client'
import type { AssistantMessage, Image, UserMessage } from '../../../agent/messages.ts'
import type { ModelReply } from '../../../agent/model.ts'
import type { SampleRequest } from '../../../agent/sampling.ts'
import { isObject } from '../../../json/shape.ts'
import { limits } from '../limits.ts'

/**
 * The parameters of a sampling request for the model of the run, within limits. `includeContext` has no effect: the server never gets
 * the messages of the run. Throws for audio, tools, and requests that are too long.
 */
export function toSampleRequest(params: unknown): SampleRequest {
  const { messages, systemPrompt, maxTokens, tools } = Object(params) as Record<string, unknown>
  if (Array.isArray(tools) && tools.length > 0) throw new Error('Sampling with tools is not supported.')
  if (!Array.isArray(messages) || messages.length === 0) throw new Error('The sampling request has no messages.')
  const system = typeof systemPrompt === 'string' ? systemPrompt : ''
  const request = messages.map(toMessage)
  const characters = request.reduce((sum, message) => sum + message.text.length, system.length)
  if (characters > limits.sampleCharacters) throw new Error(`The sampling request has more than ${limits.sampleCharacters} characters.`)
  const wanted = typeof maxTokens === 'number' && maxTokens >= 1 ? Math.floor(maxTokens) : limits.sampleTokens
  return { system, messages: request, maxOutputTokens: Math.min(wanted, limits.sampleTokens) }
}

export function toSampleResult({ text, usage, finish }: ModelReply): CreateMessageResult {
  const stopReason = finish === 'length' ? 'maxTokens' : 'endTurn'
  return { role: 'assistant', model: usage.model, content: { type: 'text', text }, stopReason }
}

function toMessage(message: unknown): UserMessage | AssistantMessage {
  const { role, content } = Object(message) as Record<string, unknown>
  const blocks = (Array.isArray(content) ? content : [content]).filter(isObject)
  const unknown = blocks.find(({ type }) => type !== 'text' && type !== 'image')
  if (blocks.length === 0 || unknown) throw new Error('A message of the sampling request has content other than text and images.')
  const text = blocks.flatMap(({ text: part }) => (typeof part === 'string' ? [part] : [])).join('\n')
  if (role === 'assistant') return { role, text, toolCalls: [] }
  const images = blocks.flatMap(({ data, mimeType }): Image[] =>
    typeof data === 'string' && typeof mimeType === 'string' ? [{ mediaType: mimeType, data }] : [],
  )
  return { role: 'user', text, ...(images.length > 0 && { images }) }
}
