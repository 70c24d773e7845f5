import type { Message, ToolImage } from '../../agent/messages.ts'
import type { ShowImage } from '../../agent/tool.ts'
import type { Images } from '../../files/images.ts'
import type { Progress } from '../execution/progress.ts'
import type { RunKey } from '../run.ts'

/** Images that tools return in a run. */

/** The first number of a tool's image. Lower numbers are the images and files of the question. */
export const firstResultImage = 100
/** The first number of a file of the question. Lower numbers are its images. */
export const firstQuestionFile = 50

/** Limit per run, high enough for an agent with a browser that takes a screenshot before each model call. */
const maxImages = 40
/** Limit for all images of a run together, in base64 characters. The images stay in memory while the run lasts. */
const maxCharacters = 32_000_000

/** Returns a function that scales images for the model, within the limits of a run. `earlier`: images from before a takeover. */
export function createShowImage(key: RunKey, images: Pick<Images, 'fromBytes'>, earlier: readonly ToolImage[]): ShowImage {
  const { requestId } = key
  let next = earlier.reduce((n, image) => Math.max(n, image.n + 1), firstResultImage)
  let count = earlier.length
  let characters = earlier.reduce((sum, image) => sum + image.data.length, 0)
  return async (name, bytes) => {
    if (count >= maxImages) throw new Error(`a run may show at most ${maxImages} images of tools`)
    // Count before scaling: several images may arrive at the same time.
    count++
    try {
      const { mediaType, data } = await images.fromBytes(bytes, key)
      if (characters + data.length > maxCharacters)
        throw new Error(`the images of tools in this run exceed ${maxCharacters} base64 characters in total`)
      characters += data.length
      return { mediaType, data, name, requestId, n: next++ }
    } catch (error) {
      count--
      throw error
    }
  }
}

export function resultImagesIn(messages: readonly Message[]): ToolImage[] {
  return messages.flatMap((message) => (message.role === 'tool' ? (message.images ?? []) : []))
}

/** Images of the current run, including those of nested agents. Images of earlier turns are left out. */
export function ownResultImages({ messages, ownFrom, results, nested }: Progress): ToolImage[] {
  return resultImagesIn([...messages.slice(ownFrom), ...results, ...nested.map(({ message }) => message)])
}

/** Key of an image's bytes, unique in a session. */
export function imageKey({ requestId, n }: Pick<ToolImage, 'requestId' | 'n'>): string {
  return `${requestId} ${n}`
}

/** Restores image bytes (by `imageKey`) in a stored message. */
export function fillImages<M extends Message>(message: M, bytes: ReadonlyMap<string, string>): M {
  if (message.role !== 'tool' || !message.images) return message
  return { ...message, images: message.images.map((image) => ({ ...image, data: bytes.get(imageKey(image)) ?? image.data })) }
}
