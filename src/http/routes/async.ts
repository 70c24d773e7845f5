import { randomUUIDv7 } from 'node:crypto'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import { accessTo } from '../../access/operations.ts'
import type { RequestLimits } from '../../access/rate-limits.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { invalid, ServiceError, toErrorBody, type ErrorBody } from '../../errors.ts'
import type { Chats } from '../../runs/chat.ts'
import type { NewChat } from '../../runs/new-chat.ts'
import type { Accepted } from '../../runs/run-store.ts'
import { principalOf } from '../authenticate.ts'
import { toNewChat } from '../chat-request.ts'
import {
  batchType,
  createDecodeData,
  eventType,
  isBatch,
  isBinary,
  relocate,
  toBinaryLocation,
  withData,
  type DecodeData,
} from '../cloud-events.ts'
import { eventExample } from '../examples.ts'
import { isId } from '../ids.ts'
import { AsyncBody, ErrorReply, IdHeaders, refusals } from '../schemas.ts'
import { setSessionId } from '../session-header.ts'
import { bodyChecks, toFaults } from '../validation.ts'

export interface AsyncServices {
  runs: Chats
  agent: CurrentAgent
  limits: Pick<RequestLimits, 'take'>
}

const Acknowledgement = Type.Object({
  status: Type.Enum(['accepted']),
  id: Type.String({ description: 'Of the event.' }),
  request_id: Type.String(),
  session_id: Type.String(),
})

/** Events of a batch; each counts as a request of its own. */
const maxEvents = 100

const Batch = Type.Array(Type.Unknown(), {
  maxItems: maxEvents,
  description: 'Events as in structured mode, at most 100.',
  example: [eventExample],
})

const EventError = Type.Object({
  ...ErrorReply.properties,
  details: Type.Optional(
    Type.Object({
      ...ErrorReply.properties.details.properties,
      retry_after: Type.Optional(Type.Integer({ description: 'Seconds, as the header `retry-after` elsewhere.' })),
    }),
  ),
})

const Answers = Type.Union([Acknowledgement, Type.Array(Type.Union([Acknowledgement, EventError]))], {
  description: 'Of a batch: an acknowledgement or an error for each event, in their order. Each event counts as a request.',
})

const attribute = Type.Optional(Type.String({ description: 'Of an event in binary mode, percent-encoded; the body is its data.' }))

const EventHeaders = Type.Object({
  ...IdHeaders.properties,
  'ce-specversion': attribute,
  'ce-type': attribute,
  'ce-source': attribute,
  'ce-id': attribute,
  'ce-time': attribute,
})

const single = { schema: AsyncBody }

/** A chat that is acknowledged at once and answered later, as an event or several. */
export function asyncRoutes(app: FastifyInstance, services: AsyncServices): void {
  const check = bodyChecks()(AsyncBody)
  app.post(
    '/core/v1/chain_async',
    {
      config: { access: accessTo.chat, hasSession: 'body', takesEvents: true },
      // What is wrong is said of the place where it stands: in headers, in the body, or in an event of a batch.
      attachValidation: true,
      schema: {
        tags: ['Chat'],
        summary: 'An acknowledgement at once; the answer goes to callback_url, and stays readable as a run',
        headers: EventHeaders,
        body: { content: { 'application/json': single, [eventType]: single, [batchType]: { schema: Batch } } },
        response: {
          200: Answers,
          ...{ 400: ErrorReply, 409: ErrorReply, 410: ErrorReply },
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      refuseInvalid(request)
      if (!isBatch(request)) return acceptOne(services, request, reply)
      if (!isId(request.headers['session-id'])) void reply.removeHeader('session-id')
      const decode = createDecodeData(app, request)
      const answers: object[] = []
      for (const [n, event] of (request.body as unknown[]).entries()) {
        answers.push(await answerOf(request, () => acceptOfBatch(services, { request, event, n, decode, check })))
      }
      return answers
    },
  )
}

function refuseInvalid(request: FastifyRequest): void {
  // Fastify checks a body by its content type; a request without a body has none.
  if (request.body === undefined) throw invalid(['body'], 'must be object', 'type')
  if (!request.validationError) return
  const error = toFaults(request.validationError as FastifyError)
  throw isBinary(request) ? relocate(error, toBinaryLocation) : error
}

async function acceptOne({ runs, agent }: AsyncServices, request: FastifyRequest, reply: FastifyReply): Promise<object> {
  const { id, source, data } = request.body as AsyncBody
  const event = { source, id, callbackUrl: data.callback_url ?? undefined }
  const at = isBinary(request) ? ['body'] : ['body', 'data']
  const accepted = await runs.accept(principalOf(request), event, () =>
    toNewChat(request, 'chain_async', agent().config.limits.max_input_characters, { body: data, at }),
  )
  setSessionId(request, reply, accepted.sessionId)
  if (request.headers['request-id'] === undefined) void reply.header('request-id', accepted.requestId)
  return toAcknowledgement(id, accepted)
}

interface BatchEvent {
  request: FastifyRequest
  event: unknown
  /** Its place in the batch. */
  n: number
  decode: DecodeData
  check: ReturnType<ReturnType<typeof bodyChecks>>
}

/** Each event is a run with a request id of its own: the header `request-id` names the batch. */
async function acceptOfBatch({ runs, agent, limits }: AsyncServices, { request, event, n, decode, check }: BatchEvent): Promise<object> {
  // The request itself was counted when its key was verified.
  const tooMany = n > 0 ? limits.take(principalOf(request)) : undefined
  if (tooMany) throw tooMany
  const whole = withData(event, ['body', n], decode)
  const validation = check(whole)
  if (validation) throw relocate(toFaults({ validation, validationContext: 'body' }), ([part, ...rest]) => [part!, n, ...rest])
  const { id, source, data } = whole as AsyncBody
  const place = { body: data, at: ['body', n, 'data'] }
  const toChat = (): NewChat => ({
    ...toNewChat(request, 'chain_async', agent().config.limits.max_input_characters, place),
    requestId: randomUUIDv7(),
    newSessionId: randomUUIDv7(),
  })
  return toAcknowledgement(id, await runs.accept(principalOf(request), { source, id, callbackUrl: data.callback_url ?? undefined }, toChat))
}

async function answerOf(request: FastifyRequest, accept: () => Promise<object>): Promise<object> {
  try {
    return await accept()
  } catch (error) {
    if (!(error instanceof ServiceError)) request.log.error({ err: error }, 'unexpected failure')
    return toElement(error)
  }
}

/** An error as an element of a batch. An element has no header `retry-after`, so its details have the seconds. */
function toElement(error: unknown): ErrorBody {
  const body = toErrorBody(error)
  const retryAfter = error instanceof ServiceError ? error.retryAfter : undefined
  if (retryAfter === undefined || !body.details) return body
  return { ...body, details: { ...body.details, retry_after: retryAfter } }
}

function toAcknowledgement(id: string, { requestId, sessionId }: Accepted): Static<typeof Acknowledgement> {
  return { status: 'accepted', id, request_id: requestId, session_id: sessionId }
}
