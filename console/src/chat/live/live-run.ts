import { client, type Chunk, type StepProgress } from '../../api/client.ts'
import { detailsOf, messageOf, statusOf } from '../../api/errors.ts'
import { newId } from '../../api/ids.ts'
import { createStore, type Store } from '../../api/store.ts'
import { addChunks, addProgress, emptyAnswer, type Answer } from './answer.ts'
import { loadSent, type SentMessage } from './sent-messages.ts'
import { createRewindLog } from './rewind-log.ts'

/** A question of the user: the fields of a chat. */
export interface Question {
  text: string
  images?: { name: string; dataUrl: string }[]
  /** `path` is a path below the files root, or the id of an upload. */
  contextFiles?: { path: string; name: string }[]
  hints?: { tool_name: string; filter_key: string; filter_type: 'equals' | 'not_equals' | 'in' | 'contains'; filter_value: string }[]
}

/** `sending` until the first chunk; `refused` when there is none: the service has not stored the question. */
export type RunStatus = 'sending' | 'running' | 'waiting' | 'ended' | 'refused'

/** A run that this page follows. */
export interface LiveRun {
  sessionId: string
  requestId: string
  question: Question
  /** Number of messages that the session had before the question. */
  messagesBefore: number
  answer: Store<Answer>
  status: Store<RunStatus>
  /** Messages to the run, in order; those that have reached the run are parts of the answer, too. */
  sent: Store<readonly SentMessage[]>
  /** Stops following. The run goes on. */
  leave: () => void
}

/** The only run that the page follows: browsers allow few connections to a host. */
export const currentRun = createStore<LiveRun | undefined>(undefined)

/** Asks in a session, and follows the answer. The run goes on when the page is closed. */
export function ask(sessionId: string, question: Question, messagesBefore: number): LiveRun {
  const requestId = newId()
  const leaving = new AbortController()
  const { text, images, contextFiles, hints } = question
  const request = {
    messages: [{ role: 'user' as const, content: text }],
    on_disconnect: 'continue' as const,
    ...(images?.length && { images: images.map(({ dataUrl }) => ({ type: 'base64' as const, content: dataUrl })) }),
    ...(contextFiles?.length && { context_files: contextFiles.map(({ path }) => path) }),
    ...(hints?.length && { data_filter_hints: hints }),
  }
  const chunks = client.stream(request, { requestId, sessionId, signal: leaving.signal, throughApprovals: true, retries: 1000, onProgress })
  return follow({ sessionId, requestId, question, messagesBefore }, chunks, leaving)
}

/** Follows a run that goes on already: after a reload, from another page, or after the death of a replica. */
export function attach(
  sessionId: string,
  requestId: string,
  question: Question,
  messagesBefore: number,
  sent: readonly SentMessage[] = [],
): LiveRun {
  const leaving = new AbortController()
  const chunks = client.runs.stream(requestId, { signal: leaving.signal, throughApprovals: true, retries: 1000, onProgress })
  const run = follow({ sessionId, requestId, question, messagesBefore }, chunks, leaving, 'running')
  if (sent.length > 0) run.sent.set(sent)
  else void loadSent(run)
  return run
}

/** The page follows one run, so that progress is of the current one. */
function onProgress(progress: StepProgress): void {
  const answer = currentRun.get()?.answer
  answer?.set(addProgress(answer.get(), progress))
}

type RunDescription = Pick<LiveRun, 'sessionId' | 'requestId' | 'question' | 'messagesBefore'>

function follow(
  description: RunDescription,
  chunks: AsyncIterable<Chunk>,
  leaving: AbortController,
  initial: RunStatus = 'sending',
): LiveRun {
  currentRun.get()?.leave()
  const run: LiveRun = {
    ...description,
    answer: createStore(emptyAnswer),
    status: createStore(initial),
    sent: createStore<readonly SentMessage[]>([]),
    leave: () => leaving.abort(),
  }
  currentRun.set(run)
  void read(chunks, run, leaving.signal)
  return run
}

/** Puts the chunks of each frame into the answer together, so that a fast stream renders once per frame. */
async function read(chunks: AsyncIterable<Chunk>, { answer, status }: LiveRun, disconnected: AbortSignal): Promise<void> {
  const log = createRewindLog()
  let batch: Chunk[] = []
  let frame: number | undefined
  const flush = () => {
    if (frame !== undefined) cancelFrame(frame)
    frame = undefined
    answer.set(addChunks(answer.get(), batch))
    if (batch.length > 0) status.set(answer.get().status)
    batch = []
  }
  try {
    for await (const chunk of chunks) {
      const earlier = log.add(chunk)
      if (earlier) {
        answer.set(addChunks(emptyAnswer, earlier))
        batch = []
        continue
      }
      batch.push(chunk)
      frame ??= nextFrame(flush)
    }
    flush()
    // The stream of an ended run whose chunks were all read ends without a last chunk.
    if (answer.get().status !== 'ended') answer.set({ ...answer.get(), status: 'ended', finishReason: 'stop' })
    status.set('ended')
  } catch (error) {
    flush()
    if (disconnected.aborted) return
    const details = detailsOf(error)
    const failure = { body: messageOf(error), status_code: statusOf(error), ...(details && { details }) }
    answer.set({ ...answer.get(), status: 'ended', finishReason: 'error', error: failure })
    status.set(status.get() === 'sending' ? 'refused' : 'ended')
  }
}

/** A hidden page gets no frames: there, chunks are put together twice a second. */
function nextFrame(callback: () => void): number {
  return document.visibilityState === 'visible' ? requestAnimationFrame(callback) : window.setTimeout(callback, 500)
}

function cancelFrame(handle: number): void {
  cancelAnimationFrame(handle)
  clearTimeout(handle)
}
