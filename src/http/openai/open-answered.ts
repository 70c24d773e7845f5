import type { FastifyReply, FastifyRequest } from 'fastify'
import { filesForReader } from '../answer-files.ts'
import { disconnectSignal } from '../connection.ts'
import type { ChatServices, OpenChat, Opening } from '../open-chat.ts'
import { isId, setSessionId } from '../request-headers.ts'
import { waitsForRun } from '../server-timing.ts'
import type { AnsweredRun } from './answered-run.ts'

interface Following {
  request: FastifyRequest
  reply: FastifyReply
  answered: AnsweredRun
}

/** Follows the run that the outputs of the request have resumed. */
export function openAnswered(
  { runs, artifacts }: Pick<ChatServices, 'runs' | 'artifacts'>,
  { request, reply, answered }: Following,
): Opening {
  const { key, sessionId } = answered
  setSessionId(request, reply, sessionId)
  if (!isId(request.headers['request-id'])) void reply.header('request-id', key.requestId)
  const disconnected = disconnectSignal(reply)
  const toFiles = filesForReader(artifacts, request)
  const chat = runs.follow(key, disconnected).then((run): OpenChat => {
    waitsForRun(request, run)
    return { run, disconnected, toFiles }
  })
  return { chat, settled: Promise.resolve() }
}
