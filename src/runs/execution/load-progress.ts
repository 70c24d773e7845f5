import type { RecalledMemories } from '../../memory/recall.ts'
import { callsWithoutResult } from '../../agent/history.ts'
import type { RunPorts } from './ports.ts'
import { restore, type Progress } from './progress.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import type { HistoryMessage, Turn } from '../run-store.ts'
import { loadContext } from '../attachments/context-files.ts'
import { loadMedia, loadResultImages } from '../attachments/window-media.ts'
import { summaryUnder, underFilters, readWindow } from '../window/window.ts'
import { humanMessageData, toBroughtMessages, toTranscript } from '../window/transcript.ts'
import { reachState } from '../../states.ts'

/** Loads the window of the session, and the checkpoints of a resumed run. */
export async function loadProgress(run: LiveRun, progress: Progress, deps: RunPorts, { asksModel } = { asksModel: true }): Promise<void> {
  const { store } = deps
  const { turn } = progress
  const { times } = run
  const { config } = run.agent
  progress.history = isFirst(run, turn) ? [ownMessage(run)] : await times.during('store', () => readWindow(run, turn, store))
  const { contextFiles, documents, filters } = run.request
  const isFiltered = filters.length > 0
  // Files and images are slow to read and needed only for model calls.
  const context = asksModel && (contextFiles ?? documents) ? await loadContext(run, deps) : undefined
  if (context?.tool) progress.extraTools = [context.tool]
  if (asksModel && run.request.clientTools) progress.clientTools = deps.clientTools.create(run.request.clientTools, run.key)
  const history = isFiltered ? underFilters(filters, progress.history) : progress.history
  const media = asksModel && mayHaveMedia(run, history) ? await times.during('store', () => loadMedia(run, turn, history, deps)) : undefined
  const { messages, system } = toTranscript({
    history,
    summary: isFiltered ? summaryUnder(filters, turn.summary) : turn.summary,
    messageIndex: turn.messageIndex,
    requestId: run.key.requestId,
    messages: run.request.messages,
    instructions: run.request.instructions,
    tokens: config.memory.history_tokens,
    ...(media ? { images: media.images, files: media.files, fileTexts: media.texts } : {}),
    ...(context ? { context } : {}),
  })
  progress.system = [config.instructions, system].filter((text) => text !== '').join('\n\n')
  progress.ownFrom = messages.length
  progress.messages = [...messages, ...(run.request.continuation ?? []).flatMap(toBroughtMessages)]
  progress.storedMessages = progress.messages.length
  if (run.fence > 1) {
    const [checkpoints, decisions] = await times.during('store', () => Promise.all([store.checkpoints(run.key), store.decisions(run.key)]))
    restore(run, progress, checkpoints)
    reachState(checkpoints.length > 0 ? 'resumed-with-progress' : 'resumed-without-progress')
    if (callsWithoutResult(progress.messages).length > 0) reachState('resumed-in-tool')
    progress.decisions = decisions
  }
  if (media) await times.during('store', () => loadResultImages(run, progress, media.results, store))
}

/** False for a new run without images and files, in a session whose window has no attachments and no tool results. */
function mayHaveMedia({ fence, request }: LiveRun, history: readonly HistoryMessage[]): boolean {
  const { images, files } = request
  return fence > 1 || (images ?? files) !== undefined || history.some(({ data }) => data?.images ?? data?.files ?? data?.transcript)
}

/** Puts memories before the question of the current run only, so that the beginning of the prompt stays the same and provider caches hit. */
export function addMemories({ messages, ownFrom }: Progress, memories: RecalledMemories | undefined): void {
  const question = messages[ownFrom - 1]
  if (!memories || question?.role !== 'user') return
  const parts = { question: question.text, ...question.parts, memories: memories.statements }
  messages[ownFrom - 1] = { ...question, text: memories.text + question.text, parts }
}

/** True where the human message of the run is the only message of the session, so that no history has to be read. */
function isFirst({ request }: LiveRun, { messageCount }: Turn): boolean {
  return messageCount === 1 && request.messages.length === 1
}

function ownMessage(run: LiveRun): HistoryMessage {
  return { idx: 0, role: 'human', content: run.input, data: humanMessageData(run.request, run.key.requestId) }
}
