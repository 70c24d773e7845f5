import { imagesNote, withNotes } from './notes.ts'
import type { Message, ToolImage, ToolMessage } from './messages.ts'

/** Pictures in the results of tools: which of them a model call shows. */

/** Of one result; as many as one question may bring. */
export const maxImagesPerResult = 5

/** Shown in one model call. One more, and the oldest `stride` are left out: between two cuts the transcript grows at its end, and prompt caches hold. */
const maxShown = 8
const stride = 4
/** Base64 characters shown in one model call. The smallest limit of a provider is 20 MB for a request, questions and their images included. */
const maxShownCharacters = 10_000_000

/** Leaves out the oldest pictures of results as far as a model call can't show them; a note names each. The same array where all are shown. */
export function fitImages(messages: readonly Message[]): readonly Message[] {
  const all = messages.flatMap((message) => (message.role === 'tool' ? (message.images ?? []) : []))
  if (all.length === 0) return messages
  const shown = new Set(newestOf(all.filter((image) => image.data !== '')))
  if (shown.size === all.length) return messages
  return messages.map((message) => (message.role === 'tool' ? keepImages(message, (image) => shown.has(image)) : message))
}

function newestOf(images: readonly ToolImage[]): readonly ToolImage[] {
  const surplus = images.length - maxShown
  const newest = surplus > 0 ? images.slice(Math.ceil(surplus / stride) * stride) : [...images]
  let characters = newest.reduce((sum, image) => sum + image.data.length, 0)
  let from = 0
  while (characters > maxShownCharacters && from < newest.length - 1) characters -= newest[from++]!.data.length
  return newest.slice(from)
}

/** A result with those of its pictures that a test passes; a note names the others. */
export function keepImages(message: ToolMessage, passes: (image: ToolImage) => boolean): ToolMessage {
  const { images = [], ...rest } = message
  const kept = images.filter(passes)
  if (kept.length === images.length) return message
  const names = images.filter((image) => !passes(image)).map(({ name }) => name)
  return { ...rest, text: withNotes(rest.text, imagesNote(names, 'result')), ...(kept.length > 0 && { images: kept }) }
}

/** A result as it is shown to a model that can't see, or where room is short. */
export function withoutImages(message: ToolMessage): ToolMessage {
  return keepImages(message, () => false)
}

/** A message as it is stored: the bytes of its pictures stand elsewhere. */
export function withoutImageBytes<M extends Message>(message: M): M {
  if (message.role !== 'tool' || !message.images) return message
  return { ...message, images: message.images.map((image) => ({ ...image, data: '' })) }
}
