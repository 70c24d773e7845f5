import type { Message, ToolImage, Image, MessageFile, UserMessage } from '../../agent/messages.ts'
import type { ShowImage } from '../../agent/tool.ts'
import type { Images } from '../../files/images.ts'
import type { Progress } from '../execution/progress.ts'
import type { RunKey, ChatRequest } from '../run.ts'
import { filesNote, imagesNote, withNotes } from '../../agent/history.ts'
import type { MessageData } from '../../sessions/message.ts'
import type { HistoryMessage } from '../run-store.ts'

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

/** Attachments of human messages in the transcript. */

export type RequestContent = Pick<ChatRequest, 'messages' | 'images' | 'contextFiles' | 'documents' | 'files'>

/** Attachments of the human messages of a session that are shown, by request id. */
export interface ShownAttachments {
  images?: ReadonlyMap<string, readonly Image[]>
  files?: ReadonlyMap<string, readonly MessageFile[]>
}

/** A human message of an earlier turn. Attachments in `shown` are shown again; others are only named. */
export function toEarlierMessage(content: string, data: MessageData, shown: ShownAttachments): UserMessage {
  const names = (data.images ?? []).map(({ name }) => name)
  const images = (shown.images?.get(data.requestId ?? '') ?? [])
    .slice(0, names.length)
    .map((image, at): Image => ({ ...image, earlier: { name: names[at] ?? 'an image' } }))
  const files = shown.files?.get(data.requestId ?? '') ?? []
  const unshown = (data.files ?? []).filter(({ name }) => !files.some((file) => file.name === name)).map(({ name }) => name)
  const text = withNotes(content, imagesNote(names.slice(images.length)), filesNote([...(data.contextFiles ?? []), ...unshown]))
  return { role: 'user', text, ...toMedia({ images, files }) }
}

/** Images and files as fields of a message; absent for none. */
export function toMedia({
  images = [],
  files = [],
}: {
  images?: readonly Image[] | undefined
  files?: readonly MessageFile[] | undefined
}) {
  return { ...(images.length > 0 && { images: [...images] }), ...(files.length > 0 && { files: [...files] }) }
}

/** Equal to the limit of images per request. */
const maxImagesShown = 5

/** Images of a session that the model is shown again. */
export interface NewestImages {
  /** Number of images to show per request id, for runs whose question had images. */
  questions: Map<string, number>
  /** Images that tools returned in earlier turns. */
  results: ToolImage[]
}

/** Selects up to `maxImagesShown` images: first images of the current run's question, then images of the window, newest first. */
export function newestImages(current: { requestId: string; images: number }, history: readonly HistoryMessage[]): NewestImages {
  const questions = new Map<string, number>()
  const results: ToolImage[] = []
  let remaining = maxImagesShown
  const add = (requestId: string, images: number): void => {
    const count = Math.min(remaining, images)
    if (count === 0 || questions.has(requestId)) return
    questions.set(requestId, count)
    remaining -= count
  }
  add(current.requestId, current.images)
  for (const { data } of history.toReversed()) {
    if (data?.images && data.requestId !== undefined) add(data.requestId, data.images.length)
    if (!data?.transcript || data.requestId === current.requestId) continue
    const newest = remaining > 0 ? resultImagesIn(data.transcript).slice(-remaining) : []
    results.push(...newest)
    remaining -= newest.length
  }
  return { questions, results }
}
