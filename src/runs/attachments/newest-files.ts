import type { Model } from '../../agent/model.ts'
import type { FileReference } from '../../sessions/message.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import type { HistoryMessage, MediaPlace } from '../run-store.ts'
import { isRead, maxMediaBytes, maxQuestionFiles, type QuestionFile } from './question-files.ts'
import { firstQuestionFile } from './result-images.ts'

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
