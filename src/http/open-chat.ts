import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CurrentAgent } from '../configuration/agent.ts'
import type { ErrorBody } from '../errors.ts'
import type { Chats } from '../runs/chat.ts'
import type { OpenRun } from '../runs/live-runs.ts'
import { collect, errorOf, type Outcome } from '../runs/outcome.ts'
import type { Operation } from '../runs/run.ts'
import { principalOf } from './authenticate.ts'
import { toNewChat, type ChatPlace } from './chat-request.ts'
import { whenLeft } from './leaving.ts'
import { tellSession } from './session-header.ts'

/** What a door to the agent calls. */
export interface ChatDoor {
  chats: Chats
  agent: CurrentAgent
}

export interface OpenChat {
  run: OpenRun
  /** Aborted when the caller has gone. */
  left: AbortSignal
}

interface Asked {
  request: FastifyRequest
  reply: FastifyReply
  operation: Operation
  /** Default: the body itself. */
  place?: ChatPlace
}

/** Starts or joins the run that a request asks for. */
export async function openChat({ chats, agent }: ChatDoor, { request, reply, operation, place }: Asked): Promise<OpenChat> {
  const chat = toNewChat(request, operation, agent().config.limits.max_input_characters, place)
  const left = whenLeft(reply)
  const opening = chats.open(principalOf(request), chat, left)
  // It may hold megabytes of images, and the answer takes minutes.
  request.body = undefined
  const run = await opening
  request.releaseBody()
  tellSession(request, reply, run.sessionId)
  return { run, left }
}

/** Waits for the whole of a run, or until it waits for approval. */
export async function outcomeOf({ run, left }: OpenChat): Promise<Outcome & { error: ErrorBody | undefined }> {
  const release = run.log.unpace()
  left.addEventListener('abort', release, { once: true })
  await run.ended
  const outcome = collect(run.input, run.log.events)
  return { ...outcome, error: errorOf(outcome.end) }
}
