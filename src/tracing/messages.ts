import type { JsonValue, Message, ToolCall } from '../agent/messages.ts'

/** Messages in the form of the semantic conventions (`gen-ai-input-messages.json`, `gen-ai-output-messages.json`). */

/** The newest messages of a transcript as JSON of at most `maxCharacters`: truncated JSON would be unreadable. */
export function toInputMessages(messages: readonly Message[], maxCharacters: number): string {
  const texts: string[] = []
  let size = 2
  for (const message of messages.toReversed()) {
    const text = JSON.stringify({ role: message.role, parts: toParts(message) })
    size += text.length + 1
    if (size > maxCharacters) break
    texts.push(text)
  }
  return `[${texts.toReversed().join(',')}]`
}

export function toMessage(role: string, parts: JsonValue[], finish_reason?: string): string {
  return JSON.stringify([{ role, parts, ...(finish_reason === undefined ? {} : { finish_reason }) }])
}

export function toText(content: string): JsonValue {
  return { type: 'text', content }
}

export function toCallPart({ id, name, arguments: text }: Pick<ToolCall, 'name' | 'arguments'> & { id?: string }): JsonValue {
  return { type: 'tool_call', ...(id !== undefined && { id }), name, arguments: text }
}

function toParts(message: Message): JsonValue[] {
  if (message.role === 'assistant') return [...textOf(message.text), ...message.toolCalls.map(toCallPart)]
  const textParts =
    message.role === 'tool' ? [{ type: 'tool_call_response', id: message.callId, response: message.text }] : textOf(message.text)
  // Images and files appear by type only: their bytes would be most of the trace.
  const files = message.role === 'user' ? (message.files ?? []) : []
  return [...textParts, ...[...(message.images ?? []), ...files].map(toBlob)]
}

/** `modality` is the first part of the type, such as `image` or `audio`; documents have none. */
function toBlob({ mediaType }: { mediaType: string }): JsonValue {
  const modality = /^(image|audio|video)\//.exec(mediaType)?.[1]
  return { type: 'blob', ...(modality !== undefined && { modality }), mime_type: mediaType }
}

function textOf(text: string): JsonValue[] {
  return text === '' ? [] : [toText(text)]
}
