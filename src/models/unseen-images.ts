import type { Message } from '../agent/messages.ts'
import type { ModelRequest } from '../agent/model.ts'
import { imagesNote, withNotes } from '../agent/notes.ts'
import { withoutImages as withoutResultImages } from '../agent/tool-images.ts'

/** What becomes of images where the model that is asked can't see. */

/** Whether images came with the question itself: without them it is another question. */
export function showsImages({ messages }: ModelRequest): boolean {
  return messages.some((message) => message.role === 'user' && message.images?.some((image) => !image.earlier))
}

/** Images of earlier turns and of tools' results become notes; a request without any stays as it is. */
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
