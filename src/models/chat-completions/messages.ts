import { createHash } from 'node:crypto'
import type { Image, Message, ToolMessage } from '../../agent/messages.ts'
import type { ChatCompletionsTraits } from '../../configuration/providers.ts'
import { toWireAssistant, type AssistantForm, type ToId } from './assistant.ts'
import { toContent, toParts, toPicture } from './question-parts.ts'

type Form = Omit<AssistantForm, 'toId'>

interface WireMessage {
  role: string
  content: string | object[] | null
  tool_call_id?: string
}

/** Converts a transcript to the messages of a request. */
export function toWireMessages(dialect: ChatCompletionsTraits['dialect'], messages: readonly Message[], form: Form): WireMessage[] {
  const wire = dialect === 'mistral' ? toMistralMessages(messages, { ...form, toId: toMistralId }) : toPlainMessages(messages, form)
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

/** OpenAI allows only text in tool results, so images of results follow the last result of their turn in a message of role `user`. */
function toPlainMessages(messages: readonly Message[], form: Form): WireMessage[] {
  const wire: WireMessage[] = []
  let pending: object[] = []
  for (const message of messages) {
    if (message.role === 'user' && pending.length > 0) {
      // Some servers reject two consecutive messages of role `user`.
      wire.push({ role: 'user', content: [...pending, ...toParts(message, undefined)] })
      pending = []
      continue
    }
    if (message.role !== 'tool' && pending.length > 0) {
      wire.push({ role: 'user', content: pending })
      pending = []
    }
    wire.push(...toWireMessage(message, { ...form, toId: sameId }, undefined))
    if (message.role === 'tool' && message.images) pending.push(...toResultParts(message, message.images))
  }
  return pending.length > 0 ? [...wire, { role: 'user', content: pending }] : wire
}

/** Mistral allows images in tool results, and no message of role `user` directly after a result. */
function toMistralMessages(messages: readonly Message[], form: AssistantForm): WireMessage[] {
  return messages.flatMap((message) => {
    if (message.role !== 'tool' || !message.images) return toWireMessage(message, form, 'mistral')
    const content = [{ type: 'text', text: message.text }, ...message.images.map(toPicture)]
    return [{ role: 'tool', tool_call_id: toMistralId(message.callId), content }]
  })
}

/** No message for an assistant message without content. */
function toWireMessage(message: Message, form: AssistantForm, dialect: ChatCompletionsTraits['dialect']): WireMessage[] {
  if (message.role === 'user') return [{ role: 'user', content: toContent(message, dialect) }]
  if (message.role === 'tool') return [{ role: 'tool', tool_call_id: form.toId(message.callId), content: message.text }]
  const assistant = toWireAssistant(message, form)
  return assistant ? [assistant] : []
}

/** The label attributes the images to the tool, so that the model does not take text in an image for words of the user. */
function toResultParts({ callId, name }: ToolMessage, images: readonly (Image & { name: string })[]): object[] {
  const names = images.map((image) => image.name).join(', ')
  const label = `[Output of the tool ${name} (call ${callId}), not a message of the user: ${names}]`
  return [{ type: 'text', text: label }, ...images.map(toPicture)]
}

const sameId: ToId = (id) => id

const alphanumerics = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Mistral requires ids of exactly nine letters and digits. The same id is always converted to the same result. */
function toMistralId(id: string): string {
  const hash = createHash('sha256').update(id).digest()
  return Array.from(hash.subarray(0, 9), (byte) => alphanumerics[byte % alphanumerics.length]).join('')
}
