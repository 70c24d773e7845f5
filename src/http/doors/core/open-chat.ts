import type { CurrentAgent } from '../../../configuration/agent.ts'
import type { ErrorBody } from '../../../errors.ts'
import type { OnSession } from '../../../runs/intake/open.ts'
import type { Runs } from '../../../runs/runs.ts'
import { collect, errorOf, type AnswerBody, type Outcome } from '../../../runs/log/outcome.ts'
import type { Operation } from '../../../runs/run.ts'
import { principalOf } from '../../server/authenticate.ts'
import { toNewChat, type ChatSource } from './chat-request.ts'
import { openForReply, waitForEnd, type Exchange, type OpenChat, type Opening, type ReaderServices } from '../../reader.ts'
import { isId, setSessionId } from '../../server/request-headers.ts'

/** Services of every route that starts chats. */
export interface ChatServices extends ReaderServices {
  runs: Runs
  agent: CurrentAgent
}

interface ChatOptions extends Exchange {
  operation: Operation
  /** Default: the whole request body. */
  source?: ChatSource
}

/**
 * Starts the run of a chat request, or joins the run of an earlier request with the same id. A repeated request takes the session of the first
 * request.
 */
export function openChat(services: ChatServices, options: ChatOptions): Opening {
  const { promise: settled, resolve: settle } = Promise.withResolvers<void>()
  return { chat: open(services, options, settle), settled }
}

async function open(
  { runs, agent, artifacts }: ChatServices,
  { request, reply, operation, source }: ChatOptions,
  settle: () => void,
): Promise<OpenChat> {
  const chat = toNewChat(agent, request, operation, source)
  // No earlier request can have a request id that the service has just made, so the session cannot change.
  if (chat.sessionId !== undefined || !isId(request.headers['request-id'])) settle()
  const onSession = settleWith({ request, reply, settle })
  return openForReply({ artifacts }, { request, reply }, (disconnected) => runs.open(principalOf(request), chat, disconnected, onSession))
}

/** A top-level function, so that the closure does not keep the body alive. */
function settleWith({ request, reply, settle }: Exchange & { settle(): void }): OnSession {
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

/** Waits until a run has ended or waits for approval. */
export async function outcomeOf({ run, disconnected, toFiles }: OpenChat): Promise<ReaderOutcome> {
  await waitForEnd(run, disconnected)
  const outcome = collect(run.input, run.log.eventsAndFault)
  const { answer, end } = outcome
  const files = end.files ? await toFiles(end.files) : []
  return { ...outcome, body: { ...answer, generated_artifacts: files }, error: errorOf(end) }
}
