import type { Message, MessageFile, UserMessage, ToolMessage } from '../agent/messages.ts'
import type { Model, ModelRequest, ToolOffer } from '../agent/model.ts'
import { filesNote, imagesNote, withNotes, withoutImages as withoutResultImages } from '../agent/history.ts'

/** Handling of images, documents, audio and videos for models that do not take them. */

type Senses = Pick<Model, 'seesImages' | 'readsFiles'>

/**
 * What a model would have to do for the question itself, such as `see images`: such a part cannot be left out without changing the question.
 * Undefined for a request that the model can answer.
 */
export function unseenIn({ messages }: ModelRequest, model: Senses): string | undefined {
  for (const message of messages) {
    if (message.role !== 'user') continue
    if (!model.seesImages && message.images?.some((image) => !image.earlier)) return 'see images'
    const file = message.files?.find((candidate) => !candidate.isEarlier && candidate.text === undefined && !reads(model, candidate))
    if (file) return taskOf(file.mediaType)
  }
  return undefined
}

function taskOf(mediaType: string): string {
  if (mediaType.startsWith('audio/')) return 'hear audio'
  return mediaType.startsWith('video/') ? 'watch videos' : `read files of the type ${mediaType}`
}

function reads(model: Senses, { mediaType }: MessageFile): boolean {
  return model.readsFiles?.(mediaType) === true
}

/**
 * Replaces what the model does not take: documents of the question by their text, images of tool results and all that is of earlier turns by
 * notes. A request without such parts is returned unchanged.
 */
export function withoutUnseen(request: ModelRequest, model: Senses): ModelRequest {
  const isUnseen = (message: Message): boolean =>
    (message.role !== 'assistant' && !model.seesImages && (message.images?.length ?? 0) > 0) ||
    (message.role === 'user' && (message.files?.some((file) => !reads(model, file)) ?? false))
  if (!request.messages.some(isUnseen)) return request
  return { ...request, messages: request.messages.map((message) => (isUnseen(message) ? toSeen(message, model) : message)) }
}

function toSeen(message: Message, model: Senses): Message {
  if (message.role === 'tool') return withoutResultImages(message)
  if (message.role !== 'user') return message
  const { images = [], files = [], ...rest } = message
  const unread = files.filter((file) => !reads(model, file))
  const texts = unread.flatMap(({ text }) => (text === undefined ? [] : [text]))
  const names = unread.flatMap(({ text, name }) => (text === undefined ? [name] : []))
  const hiddenNames = model.seesImages ? [] : images.map((image) => image.earlier?.name ?? 'an image')
  const readFiles = files.filter((file) => reads(model, file))
  const seen: UserMessage = { ...rest, text: withNotes(...withText(texts, rest.text), imagesNote(hiddenNames), filesNote(names)) }
  if (model.seesImages && images.length > 0) seen.images = images
  if (readFiles.length > 0) seen.files = readFiles
  return seen
}

/** The texts of documents stand before the question, as those of context files do. */
function withText(texts: readonly string[], question: string): [string, ...string[]] {
  const [first, ...others] = [...texts, question]
  return [first ?? '', ...others]
}

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

const visible = /\S/

/** True for a text of white space only. Providers refuse such a text in a message, and nobody can read such an answer. */
export function isBlank(text: string): boolean {
  return !visible.test(text)
}
