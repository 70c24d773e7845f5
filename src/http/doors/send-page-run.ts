import type { FastifyReply, FastifyRequest } from 'fastify'
import { ServiceError } from '../../errors.ts'
import type { RequestedDecision } from '../../runs/approvals/decisions.ts'
import type { OpenRun } from '../../runs/open-run.ts'
import type { DecidedCall } from '../../runs/trace/source.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import { principalOf } from '../server/authenticate.ts'
import { continueRun, type ContinueServices, type ResumedRun } from './continue-run.ts'
import { openChat, type ChatServices } from './core/open-chat.ts'
import type { Opening } from '../reader.ts'
import type { ChatSource } from './core/chat-request.ts'
import { sendFailedStream, sendRun } from './core/send-run.ts'
import type { ToChunk } from './core/stream-chunks.ts'

/** Services of the protocols for chat pages. */
export interface PageServices extends ChatServices, ContinueServices {
  artifacts: ChatServices['artifacts']
  runs: ChatServices['runs']
  sessions: Pick<Sessions, 'isStarted'>
}

/** A request of a page: a question, or answers to the tool calls of the run that waits in its session. */
export interface PageRequest {
  sessionId: string
  /** Present for a request that answers tool calls. Converts the answers to decisions on `calls`, the open calls of the run or, for a repeat, all. */
  toDecisions: ((calls: readonly DecidedCall[]) => RequestedDecision[]) | undefined
  /** True if the request has more than its question. */
  hasHistory: boolean
  /** The chat. `isStarted`: the session has messages. */
  toSource(isStarted: boolean): ChatSource
  /** Renders the run; `resumed` is present for a run that goes on after answers. */
  render(run: Pick<OpenRun, 'requestId' | 'hasSchema'>, resumed?: ResumedRun): ToChunk
}

/** Answers a request of a page with a stream. Clients of these protocols read failures of the run from the stream, and other refusals as HTTP errors. */
export async function sendPageRun(
  services: PageServices,
  request: FastifyRequest,
  reply: FastifyReply,
  page: PageRequest,
): Promise<FastifyReply> {
  const { render } = page
  const requestId = request.id
  try {
    const { opening, resumed } = await open(services, request, reply, page)
    return await sendRun(reply, opening, {
      after: resumed?.passed.length ?? 0,
      render: (hasSchema) => ({ toChunk: render({ requestId: resumed?.requestId ?? requestId, hasSchema }, resumed) }),
      failsInStream: true,
    })
  } catch (error) {
    if (!isOfRun(error)) throw error
    return sendFailedStream(reply, inWords(error), render({ requestId, hasSchema: false }))
  }
}

interface Opened {
  opening: Opening
  resumed?: ResumedRun & { requestId: string }
}

async function open(services: PageServices, request: FastifyRequest, reply: FastifyReply, page: PageRequest): Promise<Opened> {
  const { sessionId, toDecisions, hasHistory } = page
  if (toDecisions) {
    const { chat, ...resumed } = await continueRun(services, { request, reply, sessionId, toDecisions })
    return { opening: { chat: Promise.resolve(chat) }, resumed: { ...resumed, requestId: chat.run.requestId } }
  }
  const isStarted = hasHistory && (await services.sessions.isStarted(principalOf(request), sessionId))
  return { opening: openChat(services, { request, reply, operation: 'chain_streaming', source: page.toSource(isStarted) }) }
}

/** Whether an error is about the run or its session. Refusals for load, limits and missing permissions stay HTTP errors. */
function isOfRun(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.retryAfter === undefined && error.code !== 'forbidden'
}

/** The error for the person in front of the page, who attached pictures and knows no list `images`. */
function inWords(error: ServiceError): ServiceError {
  const message = error.message.replace(/^images\[(\d+)\]:/, (_, index: string) => `Picture ${Number(index) + 1}:`)
  return message === error.message ? error : new ServiceError(error.code, message, { cause: error, faults: error.faults })
}
