import type { Message, ToolImage } from '../../agent/messages.ts'
import type { ShowImage } from '../../agent/tool.ts'
import type { Images } from '../../files/images.ts'
import type { Progress } from '../execution/progress.ts'
import type { RunKey } from '../run.ts'

/** Pictures that tools have returned in a run. */

/** Pictures of results are numbered from here on: below stand those of the question. */
export const firstResultImage = 100

/** Of one run. An agent with a browser looks at each of its model calls. */
const maxImages = 40
/** Base64 characters of all of them: they stay in memory while the run lasts. */
const maxCharacters = 32_000_000

/** Fits pictures for the model, within the limits of a run. `earlier` are those that it had before it was taken over. */
export function createShowImage(key: RunKey, images: Pick<Images, 'fromBytes'>, earlier: readonly ToolImage[]): ShowImage {
  const { requestId } = key
  let next = earlier.reduce((n, image) => Math.max(n, image.n + 1), firstResultImage)
  let count = earlier.length
  let characters = earlier.reduce((sum, image) => sum + image.data.length, 0)
  return async (name, bytes) => {
    if (count >= maxImages) throw new Error(`a run is shown ${maxImages} images of tools at most`)
    // Counted before it is fitted: several come at the same time.
    count++
    try {
      const { mediaType, data } = await images.fromBytes(bytes, key)
      if (characters + data.length > maxCharacters) throw new Error('the images of tools in this run are too large together')
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

/** Pictures of the run itself, those of agents inside of its calls included. */
export function ownResultImages({ messages, ownFrom, results, nested }: Progress): ToolImage[] {
  return resultImagesIn([...messages.slice(ownFrom), ...results, ...nested.map(({ message }) => message)])
}

/** Names the bytes of a picture in a session. */
export function imageKey({ requestId, n }: Pick<ToolImage, 'requestId' | 'n'>): string {
  return `${requestId} ${n}`
}

/** Puts bytes back into the pictures of stored messages. */
export function fillImages<M extends Message>(message: M, bytes: ReadonlyMap<string, string>): M {
  if (message.role !== 'tool' || !message.images) return message
  return { ...message, images: message.images.map((image) => ({ ...image, data: bytes.get(imageKey(image)) ?? image.data })) }
}
