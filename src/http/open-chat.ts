import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CurrentAgent } from '../configuration/agent.ts'
import type { ErrorBody } from '../errors.ts'
import type { Chats, OnSession } from '../runs/chat.ts'
import type { OpenRun } from '../runs/ownership/live-runs.ts'
import { collect, errorOf, type Outcome } from '../runs/log/outcome.ts'
import type { Operation } from '../runs/run.ts'
import { principalOf } from './authenticate.ts'
import { toNewChat, type ChatSource } from './chat-request.ts'
import { isId } from './ids.ts'
import { disconnectSignal } from './leaving.ts'
import { setSessionId } from './session-header.ts'

/** What a door to the agent calls. */
export interface ChatServices {
  runs: Chats
  agent: CurrentAgent
}

export interface OpenChat {
  run: OpenRun
  /** Aborted when the caller has gone. */
  disconnected: AbortSignal
}

/** A chat while it is being opened. */
export interface Opening {
  chat: Promise<OpenChat>
  /** Resolves when the header `session-id` of the answer has its value, which a repeated request takes from the first one. */
  settled: Promise<void>
}

interface ChatOptions {
  request: FastifyRequest
  reply: FastifyReply
  operation: Operation
  /** Default: the body itself. */
  source?: ChatSource
}

/** Starts or joins the run that a request asks for. */
export function openChat(services: ChatServices, asked: ChatOptions): Opening {
  const { promise: settled, resolve: settle } = Promise.withResolvers<void>()
  return { chat: open(services, asked, settle), settled }
}

async function open(
  { runs, agent }: ChatServices,
  { request, reply, operation, source }: ChatOptions,
  settle: () => void,
): Promise<OpenChat> {
  const chat = toNewChat(request, operation, agent().config.limits.max_input_characters, source)
  const disconnected = disconnectSignal(reply)
  // A request id that the service made is new: no earlier request can have another session.
  if (chat.sessionId !== undefined || !isId(request.headers['request-id'])) settle()
  const opening = runs.open(principalOf(request), chat, disconnected, settleWith({ request, reply, settle }))
  // It may hold megabytes of images, and the answer takes minutes.
  request.body = undefined
  const run = await opening
  request.releaseBody()
  return { run, disconnected }
}

/** A function of its own: its closure holds nothing of the body. */
function settleWith({ request, reply, settle }: Pick<ChatOptions, 'request' | 'reply'> & { settle(): void }): OnSession {
  return (sessionId) => {
    setSessionId(request, reply, sessionId)
    settle()
  }
}

/** Waits for the whole of a run, or until it waits for approval. */
export async function outcomeOf({ run, disconnected }: OpenChat): Promise<Outcome & { error: ErrorBody | undefined }> {
  const release = run.log.unpace()
  disconnected.addEventListener('abort', release, { once: true })
  await run.ended
  const outcome = collect(run.input, run.log.events)
  return { ...outcome, error: errorOf(outcome.end) }
}
