import { replies, route, Id, IdHeaders, object, maybe } from '../../schemas/shared.ts'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { accessTo } from '../../../access/permissions.ts'
import { fieldsOf } from '../../../json/shape.ts'
import { nothingReceived, sendRun, toStream } from '../../send-run.ts'
import { followNamed } from '../../reader.ts'
import type { App } from '../../server/app.ts'
import { principalOf } from '../../server/authenticate.ts'
import { isId, setSessionId } from '../../server/request-headers.ts'
import {
  sendPageRun,
  type PageRequest,
  type PageServices,
  maxPageMessages,
  toImage,
  toPageChat,
  toPageFile,
  type PageMessage,
} from '../pages.ts'
import { frameUiPart, UiMessageProjection } from './projection.ts'
import type { JsonValue } from '../../../agent/messages.ts'
import type { Fault } from '../../../errors.ts'
import { maxReasonCharacters, type RequestedDecision } from '../../../runs/approvals/decisions.ts'
import type { DecidedCall } from '../../../runs/trace/span.ts'
import type { ChatSource } from '../core/open-chat.ts'
import { ChatBody } from '../../schemas/chat.ts'

/** The request of the AI SDK's `useChat`, as `DefaultChatTransport` sends it. Unknown fields are ignored. */

const Part = Type.Object({
  type: Type.String({ description: 'Texts and files of messages are read, and answers to tool calls; other parts are ignored.' }),
  text: maybe(Type.String()),
  url: maybe(Type.String({ description: 'The data: URL of a file.' })),
  filename: maybe(Type.String({ maxLength: 1000, description: 'The name of a file.' })),
  mediaType: maybe(Type.String()),
  toolCallId: maybe(Type.String()),
  state: maybe(Type.String()),
  output: Type.Optional(Type.Unknown({ description: 'The output of a tool that the page ran.' })),
  errorText: maybe(Type.String()),
  approval: maybe(
    Type.Object({
      id: maybe(Type.String()),
      approved: maybe(Type.Boolean()),
      reason: maybe(Type.String({ maxLength: maxReasonCharacters })),
    }),
  ),
})

const Message = Type.Object({
  id: Type.Optional(Type.Unknown({ description: 'The id that the page gave the message.' })),
  role: Type.Enum(['system', 'user', 'assistant']),
  parts: Type.Array(Part, { maxItems: maxPageMessages }),
})

const UiChatBody = object('A chat of the AI SDK. Fields that are not listed are ignored.', {
  id: Type.String({ ...Id, description: 'The chat: the id of the session.' }),
  messages: Type.Array(Message, {
    minItems: 1,
    maxItems: maxPageMessages,
    description:
      'The conversation: the question last, or the message whose tool calls the user has answered. The service has the earlier turns of its sessions, and reads them from there.',
  }),
  ...Type.Pick(ChatBody, ['data_filter_hints', 'auto_memory_retain', 'context_files', 'on_disconnect', 'response_schema', 'client_tools'])
    .properties,
})

type UiChatBody = Type.Static<typeof UiChatBody>

const UiMessageChunk = Type.Object(
  { type: Type.String({ description: 'The kind of the part, such as `text-delta`.' }) },
  { additionalProperties: true, description: 'A part of the UI message stream; `type` decides on the other fields.' },
)

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
      return sendRun(reply.header(versionHeader, 'v1'), opening, { ...nothingReceived, render, failsInStream: true })
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

type Loc = Fault['loc']
type Message = UiChatBody['messages'][number]
type Part = Message['parts'][number]

const at: Loc = ['body', 'messages']

/** The chat of a request. `isStarted`: the session has messages. Throws a validation error for files that are no data: URL. */
function toSource({ id, messages, ...fields }: UiChatBody, isStarted: boolean): ChatSource {
  const pageMessages = messages.map((message, index) => toPageMessage(message, [...at, index]))
  const { body, sentFiles } = toPageChat(pageMessages, isStarted, at)
  return { body: { ...fields, session_id: id, images: undefined, ...body }, sentFiles, at: ['body'] }
}

function toPageMessage({ role, parts }: Message, loc: Loc): PageMessage {
  const texts = parts.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : []))
  const message: PageMessage = { role, content: texts.join('\n'), images: [], files: [] }
  for (const [index, { type, url, mediaType, filename }] of parts.entries()) {
    // The files of an answer are links to the service's own files.
    if (type !== 'file' || role !== 'user') continue
    const partLoc = [...loc, 'parts', index, 'url']
    if (/^image(\/|$)/i.test(mediaType ?? '')) message.images.push(toImage(url ?? '', partLoc))
    else message.files.push(toPageFile(url ?? '', filename ?? undefined, partLoc))
  }
  return message
}

/** Whether a request answers tool calls: its last message is the agent's, which the page has completed. */
function isAnswer({ messages }: UiChatBody): boolean {
  return messages.at(-1)?.role === 'assistant'
}

/** The decisions in the last message on these calls. Parts of other calls were answered before. */
function toDecisions({ messages }: UiChatBody, calls: readonly DecidedCall[]): RequestedDecision[] {
  const parts = messages.at(-1)?.parts ?? []
  return calls.flatMap((call) => {
    const part = parts.find(({ toolCallId, approval }) => (call.by === 'client' ? toolCallId : approval?.id) === call.callId)
    return part ? toDecision(part, call) : []
  })
}

function toDecision({ state, approval, output, errorText }: Part, { callId, by }: DecidedCall): RequestedDecision[] {
  if (by === 'client') {
    if (state === 'output-available') return [{ callId, decision: 'output', output: (output ?? null) as JsonValue }]
    return state === 'output-error' ? [{ callId, decision: 'error', error: errorText ?? '' }] : []
  }
  if (by !== 'caller' || state !== 'approval-responded') return []
  const decision = approval?.approved === true ? 'approve' : 'reject'
  return [{ callId, decision, input: undefined, reason: approval?.reason?.trim() || undefined }]
}

/** Ids of the calls that the last message rejects. */
function rejectedIn({ messages }: UiChatBody): ReadonlySet<string> {
  const rejected = messages.at(-1)?.parts.filter(({ approval }) => approval?.approved === false) ?? []
  return new Set(rejected.flatMap(({ toolCallId }) => toolCallId ?? []))
}
