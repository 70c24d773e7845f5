import type { Image, MessageFile, ToolImage } from '../../agent/messages.ts'
import type { ArrangedFile } from '../../files/context-text.ts'
import type { Progress } from '../execution/progress.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import type { HistoryMessage, RunStore, Turn } from '../run-store.ts'
import { newestImages } from './attached.ts'
import { toFileTexts } from './context-files.ts'
import { newestFiles } from './newest-files.ts'
import { fillImages, imageKey, ownResultImages } from './result-images.ts'

/** Images and files that the model is shown, by the request id of their question. */
export interface ShownMedia {
  images: ReadonlyMap<string, readonly Image[]>
  files: ReadonlyMap<string, readonly MessageFile[]>
}

interface WindowMedia extends ShownMedia {
  /** Files of the question as text, for a model that does not read prompts. */
  texts: readonly ArrangedFile[]
  /** Pictures from earlier tool results, without bytes. */
  results: readonly ToolImage[]
}

interface MediaDependencies {
  store: RunStore
  newId(): string
}

/**
 * The newest images and files in the window. A model that does not take them gets only those of the question, which is then answered by a
 * fallback or refused.
 */
export async function loadMedia(
  run: LiveRun,
  turn: Turn,
  history: readonly HistoryMessage[],
  { store, newId }: MediaDependencies,
): Promise<WindowMedia> {
  const { key, request } = run
  const { questions: newest, results } = newestImages({ requestId: key.requestId, images: request.images?.length ?? 0 }, history)
  const images = await loadImages(run, turn, newest, store)
  const characters = [...images.values()].flat().reduce((sum, { data }) => sum + data.length, 0)
  const places = newestFiles(run, history, Math.ceil((characters * 3) / 4))
  if (places.length === 0) return { images, files: new Map(), texts: [], results }
  const bytes = await store.mediaBytes(key.tenant, turn.session, places)
  const texts = toFileTexts(request.files ?? [], run.agent, newId)
  const files = new Map<string, MessageFile[]>()
  for (const place of places) {
    const data = bytes.get(imageKey(place))
    if (data === undefined) continue
    const { name, mediaType } = place.file
    const text = texts.get(place.file)?.text
    const file = { name, mediaType, data, ...(text !== undefined && { text }), ...(place.isEarlier && { isEarlier: true as const }) }
    files.set(place.requestId, [...(files.get(place.requestId) ?? []), file])
  }
  return { images, files, texts: [...texts.values()].map(({ file }) => file), results }
}

async function loadImages(
  { key, agent, request }: LiveRun,
  turn: Turn,
  newest: ReadonlyMap<string, number>,
  store: RunStore,
): Promise<Map<string, Image[]>> {
  if (newest.size === 0 || (!agent.model.seesImages && !request.images)) return new Map()
  const images = await store.images(key.tenant, turn.session, [...newest.keys()])
  for (const [requestId, count] of newest) images.set(requestId, (images.get(requestId) ?? []).slice(0, count))
  return images
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
  const bytes = await store.mediaBytes(key.tenant, progress.turn.session, images)
  progress.messages = progress.messages.map((message) => fillImages(message, bytes))
  progress.nested = progress.nested.map((nested) => ({ ...nested, message: fillImages(nested.message, bytes) }))
}
