import type { Image, ToolImage } from '../../agent/messages.ts'
import type { Progress } from '../execution/progress.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import type { HistoryMessage, RunStore, Turn } from '../run-store.ts'
import { newestImages } from './attached.ts'
import { fillImages, ownResultImages } from './result-images.ts'

interface WindowImages {
  /** Bytes of images from questions, by request id. */
  questions: Map<string, Image[]>
  /** Pictures from earlier tool results, without bytes. */
  results: readonly ToolImage[]
}

/** The newest images in the window. A model without vision gets only the images of the question, which the provider then refuses. */
export async function loadImages(
  { key, agent, request }: LiveRun,
  turn: Turn,
  history: readonly HistoryMessage[],
  store: RunStore,
): Promise<WindowImages> {
  const { questions: newest, results } = newestImages({ requestId: key.requestId, images: request.images?.length ?? 0 }, history)
  if (newest.size === 0 || (!agent.model.seesImages && !request.images)) return { questions: new Map(), results }
  const questions = await store.images(key.tenant, turn.session, [...newest.keys()])
  for (const [requestId, count] of newest) questions.set(requestId, (questions.get(requestId) ?? []).slice(0, count))
  return { questions, results }
}

/** Loads the bytes of pictures from tool results: of earlier turns, and of the current run before a takeover. */
export async function loadResultImages(
  { key, agent }: LiveRun,
  progress: Progress,
  earlier: readonly ToolImage[],
  store: RunStore,
): Promise<void> {
  const images = [...earlier, ...ownResultImages(progress)]
  if (images.length === 0 || !agent.model.seesImages) return
  const bytes = await store.resultImages(key.tenant, progress.turn.session, images)
  progress.messages = progress.messages.map((message) => fillImages(message, bytes))
  progress.nested = progress.nested.map((nested) => ({ ...nested, message: fillImages(nested.message, bytes) }))
}
