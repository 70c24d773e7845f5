import type { Message, MessageFile, UserMessage } from '../agent/messages.ts'
import type { Model, ModelRequest } from '../agent/model.ts'
import { filesNote, imagesNote, withNotes, withoutImages as withoutResultImages } from '../agent/tool-images.ts'

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
