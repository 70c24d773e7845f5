import { replies, route, ErrorReply, IdHeaders, optionalText, namedObject } from '../../schemas/shared.ts'
import { randomUUIDv7 } from 'node:crypto'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import { accessTo } from '../../../access/permissions.ts'
import type { RequestLimits } from '../../../access/rate-limits.ts'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import { invalid, ServiceError, toErrorBody, type ErrorBody } from '../../../errors.ts'
import { interruptedType } from '../../../runs/callbacks/callbacks.ts'
import type { ChatEvent } from '../../../runs/ownership/async-runs.ts'
import type { Runs } from '../../../runs/runs.ts'
import type { NewChat } from '../../../runs/new-chat.ts'
import { principalOf } from '../../server/authenticate.ts'
import { sessionIdOf, toNewChat, whenBusy, type ChatSource } from './open-chat.ts'
import {
  eventTypes,
  batchType,
  createDecodeData,
  eventType,
  isBatch,
  isBinary,
  relocate,
  toBinaryLocation,
  withData,
  type DecodeData,
} from '../../server/cloud-events.ts'
import { isId, setSessionId } from '../../server/request-headers.ts'
import { bodyCheck, toFaults } from '../../server/validation.ts'
import { AsyncBody } from '../../schemas/chat.ts'

const question = 'What were the total sales by region?'
const messages = [{ role: 'user', content: question }]
function toEvent(id: string) {
  return { specversion: '1.0', type: 'ai.service.agent.chain', source: 'urn:example:docs', id, data: { messages } }
}
const events = { event: { summary: 'A chat as an event', value: toEvent('example-1') } }
export interface AsyncServices {
  runs: Runs
  agent: CurrentAgent
  limits: Pick<RequestLimits, 'take'>
}

export const Acknowledgement = namedObject('Acknowledgement', {
  status: Type.Enum(['accepted']),
  id: Type.String({ description: 'The id of the event.' }),
  request_id: Type.String(),
  session_id: Type.String(),
  message_id: Type.Optional(
    Type.String({ description: 'Present where the event has become a message to the run `request_id` (`on_busy: steer`).' }),
  ),
  position: Type.Optional(Type.Integer({ minimum: 1, description: 'The number of this message in the run.' })),
})

/** Most events in a batch. Each event counts as a request for rate limits. */
const maxEvents = 100

const Batch = Type.Array(Type.Unknown(), {
  maxItems: maxEvents,
  description: 'Events in structured mode, at most 100.',
})

const EventError = Type.Object({
  ...ErrorReply.properties,
  details: Type.Optional(
    Type.Object({
      ...ErrorReply.properties.details.properties,
      retry_after: Type.Optional(Type.Integer({ description: 'Seconds to wait before trying again, as in the header `retry-after`.' })),
    }),
  ),
})

const Answers = Type.Union([Acknowledgement, Type.Array(Type.Union([Acknowledgement, EventError]))], {
  description: 'For a batch: an acknowledgement or an error for each event, in the order of the batch. Each event counts as a request.',
})

const attribute = optionalText('An attribute of an event in binary mode, percent-encoded. The body is the data of the event.')

const EventHeaders = Type.Object({
  ...IdHeaders.properties,
  'ce-specversion': attribute,
  'ce-type': attribute,
  'ce-source': attribute,
  'ce-id': attribute,
  'ce-time': attribute,
})

const single = { schema: AsyncBody }

/** Asynchronous chats: each CloudEvent is acknowledged at once, and the answer is sent to its callback. */
export function asyncRoutes(app: FastifyInstance, services: AsyncServices): void {
  const check = bodyCheck(AsyncBody)
  app.post(
    '/core/v1/chain_async',
    {
      ...route({ access: accessTo.chat, hasSession: 'body', takesEvents: true, bodyTypes: eventTypes, maxBodyBytes: Infinity }, 'Chat', {
        summary: 'Start an asynchronous chat. The answer is sent to callback_url, and stays readable as a run',
        text: `Stores the question, answers at once, and works in the background, also across restarts. Use it for long work and from queues. The body is a CloudEvent 1.0: structured (\`application/json\` or \`application/cloudevents+json\`), a batch of at most 100 (\`application/cloudevents-batch+json\`), or binary with \`ce-\` headers and the chat as the body.

**The answer.** With \`data.callback_url\`, the service sends it there as a signed CloudEvent of type \`ai.service.agent.chain.completed\` or \`ai.service.agent.chain.failed\`, with up to 8 attempts over about a day. \`data.callback_events\` with \`ai.service.agent.chain.interrupted\` adds an event for each time that calls wait for a decision or for the client. In any case it stays readable as \`GET /core/v1/runs/{request_id}\`.

**Repeats.** \`source\` and \`id\` name the event. The same event again is acknowledged with the ids of the first, and nothing runs twice: change \`id\` for a new run.

**Errors**

- 400 \`InvalidInput\`: a context file or an image cannot be used.
- 409 \`SessionBusy\`: the session has a run, and \`data.on_busy\` is \`reject\`.
- 422: the envelope or the chat is not valid, or \`callback_url\` is not a public http(s) address (\`OUTBOUND_ALLOW\` permits others).
- In a batch, one faulty event does not refuse the others: its place in the reply has the error.`,
        requests: {
          'application/json': events,
          'application/cloudevents+json': events,
          'application/cloudevents-batch+json': {
            batch: { summary: 'Two chats as a batch', value: [toEvent('example-2'), toEvent('example-3')] },
          },
        },
        headers: EventHeaders,
        body: { content: { 'application/json': single, [eventType]: single, [batchType]: { schema: Batch } } },
        response: replies({ 200: Answers }, 400, 409, 410),
      }),
      // The handler maps faults to their location: headers, the body, or an event of a batch.
      attachValidation: true,
    },
    async (request, reply) => {
      refuseInvalid(request)
      if (!isBatch(request)) return acceptOne(services, request, reply)
      if (!isId(request.headers['session-id'])) void reply.removeHeader('session-id')
      const decode = createDecodeData(app, request)
      const answers: object[] = []
      for (const [index, event] of (request.body as unknown[]).entries()) {
        answers.push(await answerOf(request, () => acceptOfBatch(services, { request, event, index, decode, check })))
      }
      return answers
    },
  )
}

function refuseInvalid(request: FastifyRequest): void {
  // Fastify selects the schema by content type, so a request without a body is not validated.
  if (request.body === undefined) throw invalid(['body'], 'must be object', 'type')
  if (!request.validationError) return
  const error = toFaults(request.validationError as FastifyError)
  throw isBinary(request) ? relocate(error, toBinaryLocation) : error
}

async function acceptOne(services: AsyncServices, request: FastifyRequest, reply: FastifyReply): Promise<object> {
  const event = request.body as AsyncBody
  const source = { body: event.data, at: isBinary(request) ? ['body'] : ['body', 'data'] }
  const accepted = await accept(services, request, {
    event,
    source,
    toChat: () => toNewChat(services.agent, request, 'chain_async', source),
  })
  setSessionId(request, reply, accepted.session_id)
  if (request.headers['request-id'] === undefined) void reply.header('request-id', accepted.request_id)
  return accepted
}

interface AcceptedEvent {
  event: AsyncBody
  source: Pick<ChatSource, 'at'> & { body: AsyncBody['data'] }
  toChat(): NewChat
}

/** Accepts an event as a run, or as a message to the run that its session has. */
async function accept(
  { runs }: AsyncServices,
  request: FastifyRequest,
  { event, source, toChat }: AcceptedEvent,
): Promise<Static<typeof Acknowledgement>> {
  const { id } = event
  const chatEvent = toChatEvent(event)
  const steered = source.body.on_busy ? await whenBusy({ runs }, request, { ...source, event: chatEvent }) : undefined
  if (steered) return { status: 'accepted', id, session_id: sessionIdOf(request, source) ?? '', ...steered }
  const { requestId, sessionId } = await runs.accept(principalOf(request), chatEvent, toChat)
  return { status: 'accepted', id, request_id: requestId, session_id: sessionId }
}

interface BatchEvent {
  request: FastifyRequest
  event: unknown
  /** Index in the batch. */
  index: number
  decode: DecodeData
  check: ReturnType<typeof bodyCheck>
}

/** Accepts one event of a batch as a run with a new request id, since the header `request-id` names the batch. */
async function acceptOfBatch(services: AsyncServices, { request, event, index, decode, check }: BatchEvent): Promise<object> {
  // Authentication has counted the request itself, which stands for the first event.
  const rateLimited = index > 0 ? services.limits.take(principalOf(request)) : undefined
  if (rateLimited) throw rateLimited
  const decoded = withData(event, ['body', index], decode)
  const validation = check(decoded)
  if (validation) throw relocate(toFaults({ validation, validationContext: 'body' }), ([part, ...rest]) => [part!, index, ...rest])
  const source = { body: (decoded as AsyncBody).data, at: ['body', index, 'data'] }
  const toChat = (): NewChat => ({
    ...toNewChat(services.agent, request, 'chain_async', source),
    requestId: randomUUIDv7(),
    newSessionId: randomUUIDv7(),
  })
  return accept(services, request, { event: decoded as AsyncBody, source, toChat })
}

function toChatEvent({ id, source, data }: AsyncBody): ChatEvent {
  const reportsInterruptions = data.callback_events?.includes(interruptedType) ?? false
  return { source, id, callbackUrl: data.callback_url ?? undefined, reportsInterruptions }
}

async function answerOf(request: FastifyRequest, accept: () => Promise<object>): Promise<object> {
  try {
    return await accept()
  } catch (error) {
    if (!(error instanceof ServiceError)) request.log.error({ err: error }, 'unexpected failure')
    return toBatchError(error)
  }
}

/** An error as an element of the reply to a batch. `details.retry_after` stands in for the header `retry-after`. */
function toBatchError(error: unknown): ErrorBody {
  const body = toErrorBody(error)
  const retryAfter = error instanceof ServiceError ? error.retryAfter : undefined
  if (retryAfter === undefined || !body.details) return body
  return { ...body, details: { ...body.details, retry_after: retryAfter } }
}
