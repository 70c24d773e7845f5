import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CurrentAgent } from '../configuration/agent.ts'
import type { ErrorBody } from '../errors.ts'
import type { Chats, OnSession } from '../runs/chat.ts'
import type { OpenRun } from '../runs/ownership/live-runs.ts'
import { collect, errorOf, type Outcome } from '../runs/log/outcome.ts'
import type { Operation } from '../runs/run.ts'
import { principalOf } from './authenticate.ts'
import { toNewChat, type ChatPlace } from './chat-request.ts'
import { isId } from './ids.ts'
import { whenLeft } from './leaving.ts'
import { tellSession } from './session-header.ts'

/** What a door to the agent calls. */
export interface ChatDoor {
  runs: Chats
  agent: CurrentAgent
}

export interface OpenChat {
  run: OpenRun
  /** Aborted when the caller has gone. */
  left: AbortSignal
}

/** A chat while it is being opened. */
export interface Opening {
  chat: Promise<OpenChat>
  /** Resolves when the header `session-id` of the answer has its value, which a repeated request takes from the first one. */
  settled: Promise<void>
}

interface Asked {
  request: FastifyRequest
  reply: FastifyReply
  operation: Operation
  /** Default: the body itself. */
  place?: ChatPlace
}

/** Starts or joins the run that a request asks for. */
export function openChat(door: ChatDoor, asked: Asked): Opening {
  const { promise: settled, resolve: settle } = Promise.withResolvers<void>()
  return { chat: open(door, asked, settle), settled }
}

async function open({ runs, agent }: ChatDoor, { request, reply, operation, place }: Asked, settle: () => void): Promise<OpenChat> {
  const chat = toNewChat(request, operation, agent().config.limits.max_input_characters, place)
  const left = whenLeft(reply)
  // A request id that the service made is new: no earlier request can have another session.
  if (chat.sessionId !== undefined || !isId(request.headers['request-id'])) settle()
  const opening = runs.open(principalOf(request), chat, left, settleWith({ request, reply, settle }))
  // It may hold megabytes of images, and the answer takes minutes.
  request.body = undefined
  const run = await opening
  request.releaseBody()
  return { run, left }
}

/** A function of its own: its closure holds nothing of the body. */
function settleWith({ request, reply, settle }: Pick<Asked, 'request' | 'reply'> & { settle(): void }): OnSession {
  return (sessionId) => {
    tellSession(request, reply, sessionId)
    settle()
  }
}

/** Waits for the whole of a run, or until it waits for approval. */
export async function outcomeOf({ run, left }: OpenChat): Promise<Outcome & { error: ErrorBody | undefined }> {
  const release = run.log.unpace()
  left.addEventListener('abort', release, { once: true })
  await run.ended
  const outcome = collect(run.input, run.log.events)
  return { ...outcome, error: errorOf(outcome.end) }
}
