import type { Message, ToolImage, ToolMessage } from './messages.ts'

/** Selects the pictures in tool results that a model call shows. */

/** Pictures shown per result; the same limit as for one question. */
export const maxImagesPerResult = 5

/**
 * Pictures shown per model call. Beyond that the oldest `stride` are dropped at once: between two cuts the transcript
 * only grows at its end, so prompt caches hold.
 */
const maxShown = 8
const stride = 4
/** Base64 characters of results shown per model call. */
const maxShownCharacters = 10_000_000
/** Base64 characters of a model call, images and files of questions included. Claude refuses requests above 32 MB. */
const maxMediaCharacters = 30_000_000

/**
 * Drops the oldest pictures of results beyond the limits of a model call and adds a note that names each. Returns the
 * same array when all pictures are shown.
 */
export function fitImages(messages: readonly Message[]): readonly Message[] {
  const all = messages.flatMap((message) => (message.role === 'tool' ? (message.images ?? []) : []))
  if (all.length === 0) return messages
  const shownImages = new Set(
    newestOf(
      all.filter((image) => image.data !== ''),
      Math.min(maxShownCharacters, maxMediaCharacters - ofQuestions(messages)),
    ),
  )
  if (shownImages.size === all.length) return messages
  return messages.map((message) => (message.role === 'tool' ? keepImages(message, (image) => shownImages.has(image)) : message))
}

/** Base64 characters of the images and files of questions. */
function ofQuestions(messages: readonly Message[]): number {
  const media = messages.flatMap((message) => (message.role === 'user' ? [...(message.images ?? []), ...(message.files ?? [])] : []))
  return media.reduce((sum, { data }) => sum + data.length, 0)
}

function newestOf(images: readonly ToolImage[], maxCharacters: number): readonly ToolImage[] {
  const surplus = images.length - maxShown
  const newest = surplus > 0 ? images.slice(Math.ceil(surplus / stride) * stride) : [...images]
  let characters = newest.reduce((sum, image) => sum + image.data.length, 0)
  let start = 0
  while (characters > maxCharacters && start < newest.length - 1) characters -= newest[start++]!.data.length
  return newest.slice(start)
}

/** A result with only the pictures that pass; a note names the others. */
export function keepImages(message: ToolMessage, passes: (image: ToolImage) => boolean): ToolMessage {
  const { images = [], ...rest } = message
  const passing = images.filter(passes)
  if (passing.length === images.length) return message
  const names = images.filter((image) => !passes(image)).map(({ name }) => name)
  return { ...rest, text: withNotes(rest.text, imagesNote(names, 'result')), ...(passing.length > 0 && { images: passing }) }
}

/** A result for a model without vision, or for a tight budget. */
export function withoutImages(message: ToolMessage): ToolMessage {
  return keepImages(message, () => false)
}

/** A message as stored: the bytes of its pictures are stored separately. */
export function withoutImageBytes<M extends Message>(message: M): M {
  if (message.role !== 'tool' || !message.images) return message
  return { ...message, images: message.images.map((image) => ({ ...image, data: '' })) }
}

/** Notes in a message's text that stand for attachments which are no longer shown. */

export function withNotes(text: string, ...notes: (string | undefined)[]): string {
  return [text, ...notes].filter(Boolean).join('\n\n')
}

/** Undefined for none. */
export function imagesNote(names: readonly string[], container: 'message' | 'result' = 'message'): string | undefined {
  return names.length > 0 ? `[Images that came with this ${container}, not shown here: ${listOf(names)}]` : undefined
}

/** Undefined for none. */
export function filesNote(names: readonly string[]): string | undefined {
  return names.length > 0 ? `[Files that came with this message, not shown again: ${listOf(names)}]` : undefined
}

function listOf(names: readonly string[]): string {
  return names.map((name) => name.replace(/\s+/g, ' ')).join(', ')
}
