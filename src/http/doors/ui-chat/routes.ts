import { replies, route } from '../../schemas/route.ts'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { accessTo } from '../../../access/permissions.ts'
import { fieldsOf } from '../../../json/shape.ts'
import { toStream } from '../../projection.ts'
import { followNamed } from '../../reader.ts'
import { Id, IdHeaders } from '../../schemas/shared.ts'
import { sendRun } from '../../send-run.ts'
import type { App } from '../../server/app.ts'
import { principalOf } from '../../server/authenticate.ts'
import { isId, setSessionId } from '../../server/request-headers.ts'
import { sendPageRun, type PageRequest, type PageServices } from '../pages.ts'
import { isAnswer, rejectedIn, toDecisions, toSource, UiChatBody, UiMessageChunk } from './input.ts'
import { frameUiPart, UiMessageProjection } from './projection.ts'

const question = 'What were the total sales by region?'

const tag = 'Protocols'
const versionHeader = 'x-vercel-ai-ui-message-stream'

const answers = {
  description: 'Server-sent events, described by the schema of one `data`: from `start` to `finish`, `abort` or `error`, then `[DONE]`.',
  headers: { [versionHeader]: { type: 'string', description: 'The version of the stream, `v1`.' } },
  content: { 'text/event-stream': { schema: UiMessageChunk } },
}

const params = Type.Object({ id: Id })

/** The agent for pages with `useChat` of the AI SDK. */
export function uiChatRoutes(app: App, services: PageServices): void {
  app.post(
    '/ui/chat',
    {
      ...route({ access: accessTo.chat, hasSession: true, startsRun: true, maxBodyBytes: Infinity }, tag, {
        summary: 'Chat, for `useChat` of the AI SDK',
        text: `The UI message stream (version 1) of the AI SDK: \`useChat\` with a \`DefaultChatTransport\` whose \`api\` is this address. \`id\` is the session. Passages that the answer rests on are \`source-document\` parts. Failures of the run are an \`error\` part; refusals for the key, the shape of the request, limits and load are HTTP errors.

**Approvals.** A call that waits is a \`tool-approval-request\`. The page sends the message again with the user's answers, and the stream is the rest of the run. A call of one of \`client_tools\` is answered in the same way. \`client_tools\`, \`data_filter_hints\`, \`auto_memory_retain\`, \`context_files\`, \`response_schema\` and \`on_disconnect\` have the meaning that they have in \`POST /core/v1/chain\`.`,
        examples: {
          question: {
            summary: 'A question',
            value: { id: 'example-ui-chat', messages: [{ id: '1', role: 'user', parts: [{ type: 'text', text: question }] }] },
          },
        },
        headers: IdHeaders,
        body: UiChatBody,
        response: replies({ 200: answers }, 409),
      }),
      preValidation: (request, reply, done) => {
        const { id } = fieldsOf(request.body)
        if (request.headers['session-id'] === undefined && isId(id)) setSessionId(request, reply, id)
        done()
      },
    },
    async (request, reply) => sendPageRun(services, request, reply.header(versionHeader, 'v1'), toPageRequest(request)),
  )
  resumptionRoute(app, services)
}

function resumptionRoute(app: App, services: PageServices): void {
  app.get(
    '/ui/chat/:id/stream',
    {
      ...route(accessTo.readRun, tag, {
        summary: 'Stream the run of a chat that has not ended, from its start',
        text: 'For `useChat` with `resume: true`: a page that is loaded again follows the run of its chat. The stream has the whole message, which replaces the one that the page has. It ends with the requests of a run that waits for approval. 204: the last run of the chat has ended, or there is no such chat.',
        parameters: { id: 'example-ui-chat' },
        params,
        response: replies({ 200: answers, 204: Type.Null({ description: 'No run of the chat is left to follow.' }) }, 410, 422),
      }),
      // A HEAD request would read the whole run without a reader.
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      const { id: sessionId } = request.params
      const { tenant, owner } = principalOf(request)
      const run = await services.sessionRuns.newest({ tenant, owner }, sessionId)
      if (!run || run.endedAt !== undefined) return reply.code(204).send()
      const opening = { chat: followNamed(services, { request, reply }, { tenant, owner, requestId: run.requestId }) }
      const render = (hasSchema: boolean) => toStream(new UiMessageProjection({ requestId: run.requestId, hasSchema }), frameUiPart)
      return sendRun(reply.header(versionHeader, 'v1'), opening, { after: 0, render, failsInStream: true })
    },
  )
}

/** The closures read the body from the request, so that nothing keeps its images alive while the run lasts. */
function toPageRequest(request: FastifyRequest): PageRequest {
  const body = request.body as UiChatBody
  const rejected = rejectedIn(body)
  return {
    sessionId: request.sessionId,
    toDecisions: isAnswer(body) ? (calls) => toDecisions(request.body as UiChatBody, calls) : undefined,
    hasHistory: body.messages.length > 1,
    toSource: (isStarted) => toSource(request.body as UiChatBody, isStarted),
    render: (run, part) => toStream(new UiMessageProjection(run, { part, rejected: part && rejected }), frameUiPart),
  }
}
