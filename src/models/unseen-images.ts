import type { Message } from '../agent/messages.ts'
import type { ModelRequest } from '../agent/model.ts'
import { imagesNote, withNotes } from '../agent/notes.ts'
import { withoutImages as withoutResultImages } from '../agent/tool-images.ts'

/** Handling of images for models without vision. */

/** True if the question itself has images, which cannot be left out without changing the question. */
export function showsImages({ messages }: ModelRequest): boolean {
  return messages.some((message) => message.role === 'user' && message.images?.some((image) => !image.earlier))
}

/** Replaces images of earlier turns and of tool results by notes. A request without images is returned unchanged. */
export function withoutImages(request: ModelRequest): ModelRequest {
  const hasImages = request.messages.some((message) => message.role !== 'assistant' && message.images?.length)
  return hasImages ? { ...request, messages: request.messages.map(toBlind) } : request
}

function toBlind(message: Message): Message {
  if (message.role === 'tool') return withoutResultImages(message)
  if (message.role !== 'user' || !message.images?.length) return message
  const names = message.images.map((image) => image.earlier?.name ?? 'an image')
  return { role: 'user', text: withNotes(message.text, imagesNote(names)) }
}
