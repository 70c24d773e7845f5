import type { Message, ToolMessage } from '../agent/messages.ts'
import type { ModelRequest, ToolOffer } from '../agent/model.ts'

/** Requests in which the model may call nothing, such as the last of a run. */

/**
 * Offers the tools that the model may not use now, with the choice `none`, so that the request begins as those before and hits their prompt
 * cache. `hasFormat` tells whether the schema of the answer is enforced beside such tools; a schema that only goes without tools wins.
 */
export function withIdleTools(request: ModelRequest, hasFormat: (tools: readonly ToolOffer[]) => boolean): ModelRequest {
  const { idleTools = [], tools, options } = request
  const losesFormat = hasFormat([]) && !hasFormat(idleTools)
  if (tools.length > 0 || idleTools.length === 0 || losesFormat) return request
  return { ...request, tools: idleTools, options: { ...options, toolChoice: 'none' } }
}

/**
 * Calls and results as text, for providers that take calls in messages beside tools only. Without this, Claude would refuse the request, and
 * the package for Bedrock would leave the results out.
 */
export function withoutCalls(messages: readonly Message[]): Message[] {
  return messages.map((message): Message => {
    if (message.role === 'tool') return toText(message)
    if (message.role !== 'assistant' || message.toolCalls.length === 0) return message
    const calls = message.toolCalls.map(({ name, arguments: input }) => `[Call of the tool ${name}: ${input}]`)
    return { role: 'assistant', text: [message.text, ...calls].join('\n').trim(), toolCalls: [] }
  })
}

/** The label attributes the text to the tool, so that the model does not take the text for words of the user. */
function toText({ name, text, images }: ToolMessage): Message {
  return { role: 'user', text: `[Output of the tool ${name}, not a message of the user:]\n${text}`, ...(images && { images: [...images] }) }
}
