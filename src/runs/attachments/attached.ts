import type { Image, ToolImage, UserMessage } from '../../agent/messages.ts'
import { filesNote, imagesNote, withNotes } from '../../agent/notes.ts'
import type { MessageData } from '../../sessions/message.ts'
import type { ChatRequest } from '../run.ts'
import type { HistoryMessage } from '../run-store.ts'
import { resultImagesIn } from './result-images.ts'

/** What came with human messages, in transcripts. */

export type Attached = Pick<ChatRequest, 'messages' | 'images' | 'contextFiles'>

/** What the session keeps of a human message beside its text. */
export function dataOf({ images, contextFiles }: Attached, requestId: string): MessageData | undefined {
  if (!images && !contextFiles) return undefined
  return { ...(images ? { requestId, images } : {}), ...(contextFiles ? { contextFiles } : {}) }
}

/** A human message of an earlier turn, with those of its images that are shown again; the rest is named. */
export function tellAttached(content: string, data: MessageData, all: ReadonlyMap<string, readonly Image[]>): UserMessage {
  const names = (data.images ?? []).map(({ name }) => name)
  const images = (all.get(data.requestId ?? '') ?? [])
    .slice(0, names.length)
    .map((image, at): Image => ({ ...image, earlier: { name: names[at] ?? 'an image' } }))
  const text = withNotes(content, imagesNote(names.slice(images.length)), filesNote(data.contextFiles ?? []))
  return { role: 'user', text, ...toImages(images) }
}

export function toImages(images: readonly Image[] = []): { images?: Image[] } {
  return images.length > 0 ? { images: [...images] } : {}
}

/** As many as one request may bring. */
const maxImagesShown = 5

/** The images of a session that are shown again. */
export interface NewestImages {
  /** Runs whose questions brought images, and how many of each are shown. */
  questions: Map<string, number>
  /** Pictures that tools returned in earlier turns. */
  results: ToolImage[]
}

/** The images of this run's question before those in the session's window, the newest first. */
export function newestImages(own: { requestId: string; images: number }, history: readonly HistoryMessage[]): NewestImages {
  const questions = new Map<string, number>()
  const results: ToolImage[] = []
  let room = maxImagesShown
  const add = (requestId: string, images: number): void => {
    const count = Math.min(room, images)
    if (count === 0 || questions.has(requestId)) return
    questions.set(requestId, count)
    room -= count
  }
  add(own.requestId, own.images)
  for (const { data } of history.toReversed()) {
    if (data?.images && data.requestId !== undefined) add(data.requestId, data.images.length)
    if (!data?.transcript || data.requestId === own.requestId) continue
    const newest = room > 0 ? resultImagesIn(data.transcript).slice(-room) : []
    results.push(...newest)
    room -= newest.length
  }
  return { questions, results }
}
