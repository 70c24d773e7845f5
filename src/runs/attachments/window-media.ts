import type { Image, MessageFile, ToolImage } from '../../agent/messages.ts'
import type { ArrangedFile } from '../../files/context-text.ts'
import type { Progress } from '../execution/progress.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import type { ExecutionStore, HistoryMessage, Turn, MediaPlace } from '../run-store.ts'
import { newestImages, fillImages, imageKey, ownResultImages, firstQuestionFile } from './result-images.ts'
import { toFileTexts } from './context-files.ts'
import type { Model } from '../../agent/model.ts'
import type { FileReference } from '../../sessions/message.ts'
import { isRead, maxMediaBytes, maxQuestionFiles, type QuestionFile } from './question-files.ts'

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
  store: ExecutionStore
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
    const { name, mediaType, pages } = place.file
    const text = texts.get(place.file)?.text
    const file = {
      name,
      mediaType,
      data,
      ...(pages && { pages }),
      ...(text !== undefined && { text }),
      ...(place.isEarlier && { isEarlier: true as const }),
    }
    files.set(place.requestId, [...(files.get(place.requestId) ?? []), file])
  }
  return { images, files, texts: [...texts.values()].map(({ file }) => file), results }
}

async function loadImages(
  { key, agent, request }: LiveRun,
  turn: Turn,
  newest: ReadonlyMap<string, number>,
  store: ExecutionStore,
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
  store: ExecutionStore,
): Promise<void> {
  const images = [...earlier, ...ownResultImages(progress)]
  if (images.length === 0 || !agent.model.seesImages) return
  const bytes = await store.mediaBytes(key.tenant, progress.turn.session, images)
  progress.messages = progress.messages.map((message) => fillImages(message, bytes))
  progress.nested = progress.nested.map((nested) => ({ ...nested, message: fillImages(nested.message, bytes) }))
}

/** What decides about files: a run, in short. */
interface FileRun {
  key: Pick<LiveRun['key'], 'requestId'>
  request: Pick<LiveRun['request'], 'files' | 'filters'>
  agent: { model: Pick<Model, 'readsFiles'> }
}

/** A file that the model is shown, and the place of its bytes. */
export interface ShownFile extends MediaPlace {
  file: QuestionFile
  /** True for a file of an earlier turn. */
  isEarlier: boolean
}

/** Estimated tokens of all files of a request. The windows of models begin at 128,000 tokens, and turns and tools need room too. */
const maxTokens = 100_000

/**
 * Selects files of the question, all of them, and of earlier turns: the newest that fit into the limits of a question and that the model reads.
 * A run with data filter hints gets no file of an earlier turn, which may hold what a filter withholds.
 */
export function newestFiles(
  { key, request, agent: { model } }: FileRun,
  history: readonly HistoryMessage[],
  imageBytes: number,
): ShownFile[] {
  const own = request.files ?? []
  const shown = own.map((file, index): ShownFile => ({ ...placeOf(key.requestId, index), file, isEarlier: false }))
  if (request.filters.length > 0) return shown
  const budget = { files: maxQuestionFiles - own.length, bytes: maxMediaBytes - imageBytes, tokens: maxTokens }
  for (const file of own) spend(budget, file)
  for (const { data } of history.toReversed()) {
    const { requestId, files = [] } = data ?? {}
    if (requestId === undefined || requestId === key.requestId) continue
    for (const [index, file] of files.entries()) {
      if (budget.files <= 0 || file.size > budget.bytes || file.tokens > budget.tokens || !isRead(model, file.mediaType)) continue
      budget.files -= 1
      spend(budget, file)
      shown.push({ ...placeOf(requestId, index), file, isEarlier: true })
    }
  }
  return shown
}

function spend(budget: { bytes: number; tokens: number }, { size, tokens }: FileReference): void {
  budget.bytes -= size
  budget.tokens -= tokens
}

function placeOf(requestId: string, index: number): MediaPlace {
  return { requestId, n: firstQuestionFile + index }
}
