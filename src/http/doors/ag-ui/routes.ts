import type { FastifyInstance, FastifyRequest } from 'fastify'
import { accessTo } from '../../../access/permissions.ts'
import { fieldsOf } from '../../../json/shape.ts'
import { toData, toStream } from '../../projection.ts'
import { ErrorReply, IdHeaders, refusals } from '../../resources/schemas.ts'
import { isId, setRequestId, setSessionId } from '../../server/request-headers.ts'
import { sendPageRun, type PageRequest, type PageServices } from '../pages.ts'
import { toSource, AgUiEvent, RunAgentInput } from './input.ts'
import { isAnswer, toDecisions } from './interrupts.ts'
import { AgUiProjection } from './projection.ts'

const answers = {
  description: 'Server-sent events, described by the schema of one `data`: from `RUN_STARTED` to `RUN_FINISHED` or `RUN_ERROR`.',
  content: { 'text/event-stream': { schema: AgUiEvent } },
}

/** The agent for clients of AG-UI 1.0. */
export function agUiRoutes(app: FastifyInstance, services: PageServices): void {
  app.post(
    '/ag-ui',
    {
      config: { access: accessTo.chat, hasSession: true, startsRun: true },
      schema: {
        tags: ['Protocols'],
        summary: 'The agent for pages and clients of AG-UI 1.0',
        headers: IdHeaders,
        body: RunAgentInput,
        response: { 200: answers, 409: ErrorReply, ...refusals },
      },
      preValidation: (request, reply, done) => {
        const { threadId, runId } = fieldsOf(request.body)
        if (request.headers['session-id'] === undefined && isId(threadId)) setSessionId(request, reply, threadId)
        setRequestId(request, reply, runId)
        done()
      },
    },
    async (request, reply) => sendPageRun(services, request, reply, toPageRequest(request)),
  )
}

/** The closures read the body from the request, so that nothing keeps its images alive while the run lasts. */
function toPageRequest(request: FastifyRequest): PageRequest {
  const input = request.body as RunAgentInput
  const { sessionId: threadId, id: runId } = request
  const names = { threadId, runId, state: input.state }
  return {
    sessionId: threadId,
    toDecisions: isAnswer(input) ? (calls) => toDecisions(request.body as RunAgentInput, calls) : undefined,
    hasHistory: input.messages.length > 1,
    toSource: (isStarted) => toSource(request.body as RunAgentInput, isStarted),
    render: (run, part) => toStream(new AgUiProjection({ ...names, ...run }, part), toData),
  }
}
