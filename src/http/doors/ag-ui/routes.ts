import { replies, route, IdHeaders } from '../../schemas/shared.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { accessTo } from '../../../access/permissions.ts'
import { fieldsOf } from '../../../json/shape.ts'
import { toData, toStream } from '../../send-run.ts'
import { isId, setRequestId, setSessionId } from '../../server/request-headers.ts'
import { sendPageRun, type PageRequest, type PageServices } from '../pages.ts'
import { toSource, AgUiEvent, RunAgentInput } from './input.ts'
import { isAnswer, toDecisions } from './interrupts.ts'
import { AgUiProjection } from './projection.ts'

const question = 'What were the total sales by region?'

const answers = {
  description: 'Server-sent events, described by the schema of one `data`: from `RUN_STARTED` to `RUN_FINISHED` or `RUN_ERROR`.',
  content: { 'text/event-stream': { schema: AgUiEvent } },
}

/** The agent for clients of AG-UI 1.0. */
export function agUiRoutes(app: FastifyInstance, services: PageServices): void {
  app.post(
    '/ag-ui',
    {
      ...route({ access: accessTo.chat, hasSession: true, startsRun: true, maxBodyBytes: Infinity }, 'Protocols', {
        summary: 'The agent for pages and clients of AG-UI 1.0',
        text: `AG-UI 1.0, for clients such as \`HttpAgent\` of \`@ag-ui/client\`. \`threadId\` is the session and \`runId\` the request id. The answer is a stream of events from \`RUN_STARTED\` to \`RUN_FINISHED\` or \`RUN_ERROR\`; refusals for the key, the shape of the request, limits and load are HTTP errors.

**Approvals.** A run whose tool calls wait ends with \`outcome.type: "interrupt"\`. The next request of the thread answers all of them in \`resume\`, with the payload \`{approved, editedArgs?, reason?}\`, and its stream is the rest of the run.

**Tools of the page.** A run that calls one of \`tools\` ends with \`outcome.pendingToolCallIds\`. The next request of the thread has the results as messages of role \`tool\`.`,
        examples: {
          question: {
            summary: 'A question',
            value: { threadId: 'example-ag-ui', runId: 'example-ag-ui-1', messages: [{ id: '1', role: 'user', content: question }] },
          },
        },
        headers: IdHeaders,
        body: RunAgentInput,
        response: replies({ 200: answers }, 409),
      }),
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
