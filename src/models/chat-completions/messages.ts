import { createHash } from 'node:crypto'
import type { Image, ToolMessage, MessageFile, UserMessage, AssistantMessage, JsonValue, ToolCall } from '../../agent/messages.ts'
import type { ModelRequest } from '../../agent/model.ts'
import type { ChatCompletionsTraits } from '../../configuration/providers.ts'
import { isBlank, parseArguments } from '../fit-messages.ts'
import type { Quirks } from './dialects.ts'
import { readVendor, type VendorData, type VendorIdentity } from './vendor-data.ts'

/** A message, perhaps with fields of its reasoning. */
interface WireMessage {
  role: string
  content: string | object[] | null
  tool_call_id?: string
  tool_calls?: object[]
}

interface Form {
  identity: VendorIdentity
  quirks: Quirks
}

/** Converts a transcript to the messages of a request. An assistant message without content is left out. */
export function toWireMessages(
  dialect: ChatCompletionsTraits['dialect'],
  { system, messages }: Pick<ModelRequest, 'system' | 'messages'>,
  form: Form,
): WireMessage[] {
  const toId = dialect === 'mistral' ? toMistralId : sameId
  const wire: WireMessage[] = system === '' ? [] : [{ role: 'system', content: system }]
  // OpenAI allows only text in tool results, so pictures of results follow the last result of their turn in a message of role `user`.
  let pictures: object[] = []
  for (const message of messages) {
    const { role, text } = message
    if (pictures.length > 0 && role !== 'tool') {
      // Some servers reject two consecutive messages of role `user`.
      wire.push({ role: 'user', content: role === 'user' ? [...pictures, ...toParts(message, dialect)] : pictures })
      pictures = []
      if (role === 'user') continue
    }
    if (role === 'user') {
      const hasMedia = message.images?.length || message.files?.length
      wire.push({ role, content: hasMedia ? toParts(message, dialect) : text })
    } else if (role === 'tool') {
      // Mistral allows images in tool results, and no message of role `user` directly after a result.
      const own = dialect === 'mistral' ? message.images?.map(toPicture) : undefined
      wire.push({ role, tool_call_id: toId(message.callId), content: own ? [{ type: 'text', text }, ...own] : text })
      if (message.images && !own) pictures.push(...toResultParts(message, message.images))
    } else if (message.toolCalls.length > 0 || !isBlank(text)) wire.push(toWireAssistant(message, form, toId))
  }
  if (pictures.length > 0) wire.push({ role: 'user', content: pictures })
  return form.quirks.needsAlternation ? joinQuestions(wire) : wire
}

/** Joins consecutive messages of role `user`. */
function joinQuestions(messages: readonly WireMessage[]): WireMessage[] {
  const joined: WireMessage[] = []
  for (const message of messages) {
    const last = joined.at(-1)
    if (message.role === 'user' && last?.role === 'user') joined[joined.length - 1] = { role: 'user', content: joinContents(last, message) }
    else joined.push(message)
  }
  return joined
}

function joinContents({ content: first }: WireMessage, { content: second }: WireMessage): WireMessage['content'] {
  if (typeof first === 'string' && typeof second === 'string') return `${first}\n\n${second}`
  return [first, second].flatMap((content) => (typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])))
}

/** The label attributes the images to the tool, so that the model does not take text in an image for words of the user. */
function toResultParts({ callId, name }: ToolMessage, images: readonly (Image & { name: string })[]): object[] {
  const names = images.map((image) => image.name).join(', ')
  const label = `[Output of the tool ${name} (call ${callId}), not a message of the user: ${names}]`
  return [{ type: 'text', text: label }, ...images.map(toPicture)]
}

/** Converts the id of a call to an id that the server accepts. */
type ToId = (id: string) => string

const sameId: ToId = (id) => id

const alphanumerics = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Mistral requires ids of exactly nine letters and digits. The same id is always converted to the same result. */
function toMistralId(id: string): string {
  const hash = createHash('sha256').update(id).digest()
  return Array.from(hash.subarray(0, 9), (byte) => alphanumerics[byte % alphanumerics.length]).join('')
}

/** The parts of a question, the text first. */
function toParts({ text, images = [], files = [] }: UserMessage, dialect: ChatCompletionsTraits['dialect']): object[] {
  const media = [...images.map(toPicture), ...files.map((file) => (dialect === 'mistral' ? toMistralPart(file) : toFilePart(file)))]
  return text === '' ? media : [{ type: 'text', text }, ...media]
}

function toPicture({ mediaType, data }: Image): object {
  return { type: 'image_url', image_url: { url: toDataUrl({ mediaType, data }) } }
}

/** OpenAI has documents and audio, vLLM and OpenRouter videos too. */
function toFilePart(file: MessageFile): object {
  const kind = kindOf(file)
  if (kind === 'audio') return { type: 'input_audio', input_audio: { data: file.data, format: audioFormat(file) } }
  if (kind === 'video') return { type: 'video_url', video_url: { url: toDataUrl(file) } }
  return { type: 'file', file: { filename: file.name, file_data: toDataUrl(file) } }
}

function toMistralPart(file: MessageFile): object {
  if (kindOf(file) === 'audio') return { type: 'input_audio', input_audio: file.data }
  return { type: 'document_url', document_url: toDataUrl(file), document_name: file.name }
}

function kindOf({ mediaType }: MessageFile): string {
  return mediaType.slice(0, mediaType.indexOf('/')).toLowerCase()
}

/** The name of an audio format: `wav` and `mp3` at OpenAI, further names elsewhere. */
function audioFormat({ mediaType }: MessageFile): string {
  const [type = ''] = mediaType.toLowerCase().split(';', 1)
  const subtype = type.slice(type.indexOf('/') + 1).replace(/^x-/, '')
  if (subtype === 'mpeg' || subtype === 'mpeg3') return 'mp3'
  if (subtype === 'wave' || subtype === 'vnd.wave') return 'wav'
  return subtype === 'mp4' ? 'm4a' : subtype
}

function toDataUrl({ mediaType, data }: { mediaType: string; data: string }): string {
  return `data:${mediaType};base64,${data}`
}

/** Converts a message of the model, with the reasoning that the server wants back. */
function toWireAssistant(message: AssistantMessage, { identity, quirks }: Form, toId: ToId): WireMessage {
  const { text, toolCalls } = message
  const data = (message.vendor && !quirks.refusesReasoning && readVendor(identity, message)) || {}
  const content = toContent(text, data)
  const fields: WireMessage = { ...toReasoning(message, data, quirks, toId), role: 'assistant', content }
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
 * Reasoning for a message without reasoning: from another model, or from the same model while thinking was off. The text differs from
 * message to message, because a model that reads the same text in each turn begins to repeat the text.
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
