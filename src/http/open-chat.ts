import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Artifacts } from '../artifacts/artifacts.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import type { ErrorBody } from '../errors.ts'
import type { OnSession } from '../runs/intake/open.ts'
import type { Runs } from '../runs/runs.ts'
import type { OpenRun } from '../runs/open-run.ts'
import { collect, errorOf, type AnswerBody, type Outcome } from '../runs/log/outcome.ts'
import type { Operation } from '../runs/run.ts'
import { filesForReader, type ToReaderFiles } from './answer-files.ts'
import { principalOf } from './authenticate.ts'
import { toNewChat, type ChatSource } from './chat-request.ts'
import { isId, setSessionId } from './request-headers.ts'
import { disconnectSignal } from './connection.ts'
import { waitsForRun } from './server-timing.ts'

/** Services of every route that starts chats. */
export interface ChatServices {
  artifacts: Pick<Artifacts, 'toAnswerFiles'>
  runs: Runs
  agent: CurrentAgent
}

export interface OpenChat {
  run: OpenRun
  /** Aborted when the client disconnects. */
  disconnected: AbortSignal
  toFiles: ToReaderFiles
}

/** A chat that is being opened. */
export interface Opening {
  chat: Promise<OpenChat>
  /** Resolves when the response header `session-id` is final. A repeated request takes the session of the first request. */
  settled: Promise<void>
}

interface ChatOptions {
  request: FastifyRequest
  reply: FastifyReply
  operation: Operation
  /** Default: the whole request body. */
  source?: ChatSource
}

/** Starts the run of a chat request, or joins the run of an earlier request with the same id. */
export function openChat(services: ChatServices, options: ChatOptions): Opening {
  const { promise: settled, resolve: settle } = Promise.withResolvers<void>()
  return { chat: open(services, options, settle), settled }
}

async function open(
  { runs, agent, artifacts }: ChatServices,
  { request, reply, operation, source }: ChatOptions,
  settle: () => void,
): Promise<OpenChat> {
  const chat = toNewChat(request, operation, agent().config.limits.max_input_characters, source)
  const disconnected = disconnectSignal(reply)
  const toFiles = filesForReader(artifacts, request)
  // No earlier request can have a request id that the service has just made, so the session cannot change.
  if (chat.sessionId !== undefined || !isId(request.headers['request-id'])) settle()
  const opening = runs.open(principalOf(request), chat, disconnected, settleWith({ request, reply, settle }))
  // The body may hold megabytes of images, and the answer may take minutes: do not keep the body that long.
  request.body = undefined
  const run = await opening
  request.releaseBody()
  waitsForRun(request, run)
  return { run, disconnected, toFiles }
}

/** A top-level function, so that the closure does not keep the body alive. */
function settleWith({ request, reply, settle }: Pick<ChatOptions, 'request' | 'reply'> & { settle(): void }): OnSession {
  return (sessionId) => {
    setSessionId(request, reply, sessionId)
    settle()
  }
}

/** The outcome of a run for its reader. */
interface ReaderOutcome extends Outcome {
  body: AnswerBody
  error: ErrorBody | undefined
}

/** Waits until a run has ended or waits for approval. No reader follows the run meanwhile, so back-pressure is off. */
export async function outcomeOf({ run, disconnected, toFiles }: OpenChat): Promise<ReaderOutcome> {
  const release = run.log.suspendBackpressure()
  disconnected.addEventListener('abort', release, { once: true })
  await run.ended
  const outcome = collect(run.input, run.log.eventsAndFault)
  const { answer, end } = outcome
  const files = end.files ? await toFiles(end.files) : []
  return { ...outcome, body: { ...answer, generated_artifacts: files }, error: errorOf(end) }
}
