import type { Image, MessageFile, ToolImage, UserMessage } from '../../agent/messages.ts'
import { filesNote, imagesNote, withNotes } from '../../agent/notes.ts'
import type { MessageData } from '../../sessions/message.ts'
import type { ChatRequest } from '../run.ts'
import type { HistoryMessage } from '../run-store.ts'
import { resultImagesIn } from './result-images.ts'

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
