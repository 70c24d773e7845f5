import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { CurrentAgent } from '../../configuration/agent.ts'
import type { Chats } from '../../runs/chat.ts'
import type { OpenRun } from '../../runs/live-runs.ts'
import { collect, errorOf } from '../../runs/outcome.ts'
import type { Operation } from '../../runs/run.ts'
import { principalOf } from '../authenticate.ts'
import { toNewChat } from '../chat-request.ts'
import { whenLeft } from '../leaving.ts'
import { ChainAnswer, ChatBody, ErrorReply, eventStream, IdHeaders, refusals } from '../schemas.ts'
import { sendRun } from '../send-run.ts'
import { tellSession } from '../session-header.ts'

export interface ChatRoutes {
  chats: Chats
  agent: CurrentAgent
}

/** The three ways to chat. */
export function chatRoutes(app: FastifyInstance, { chats, agent }: ChatRoutes): void {
  async function open(request: FastifyRequest, reply: FastifyReply, operation: Operation): Promise<{ run: OpenRun; left: AbortSignal }> {
    const chat = toNewChat(request, operation, agent().config.limits.max_input_characters)
    const left = whenLeft(reply)
    const opening = chats.open(principalOf(request), chat, left)
    // It may hold megabytes of images, and the answer takes minutes.
    request.body = undefined
    const run = await opening
    request.releaseBody()
    tellSession(request, reply, run.sessionId)
    return { run, left }
  }

  app.post(
    '/core/v1/chain',
    {
      config: { access: 'chat', hasSession: 'body', validationShape: 'error' },
      schema: {
        tags: ['Chat'],
        summary: 'One JSON answer',
        headers: IdHeaders,
        body: ChatBody,
        response: { 200: ChainAnswer, 400: ErrorReply, 409: ErrorReply, 410: ErrorReply, 502: ErrorReply, ...refusals },
      },
    },
    async (request, reply) => {
      const { run, left } = await open(request, reply, 'chain')
      const release = run.log.unpace()
      left.addEventListener('abort', release, { once: true })
      await run.ended
      const { answer, end } = collect(run.input, run.log.events)
      const error = errorOf(end)
      return error ? reply.code(error.status_code).send(error) : { body: answer }
    },
  )

  app.post(
    '/core/v1/chain_streaming',
    {
      config: { access: 'chat', hasSession: 'body' },
      schema: {
        tags: ['Chat'],
        summary: 'The answer as server-sent events',
        headers: IdHeaders,
        body: ChatBody,
        response: {
          200: eventStream,
          ...{ 400: ErrorReply, 409: ErrorReply, 410: ErrorReply, 502: ErrorReply },
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const { run, left } = await open(request, reply, 'chain_streaming')
      return sendRun(reply, run, { after: 0, left })
    },
  )
}
