import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { accessTo } from '../../access/operations.ts'
import type { ListCallbacks } from '../../runs/callbacks/callback-list.ts'
import { principalOf } from '../authenticate.ts'
import { Offset, pageLimit, refusals, ValidationReply } from '../schemas.ts'

const Status = Type.Enum(['pending', 'delivered', 'failed', 'gone'], {
  description:
    '`pending`: attempts follow. `delivered`: the receiver answered 2xx. `failed`: the attempts are used up. `gone`: the receiver answered 410.',
})

const Query = Type.Object({ status: Type.Optional(Status), limit: pageLimit, before: Offset })

const bodyNote = 'At most 4 KiB; only on own callbacks, and with the last 10 attempts.'

const Attempt = Type.Object({
  at: Type.String({ format: 'date-time' }),
  status: Type.Union([Type.Integer(), Type.Null()], { description: 'HTTP status; null if no response arrived.' }),
  error: Type.Optional(Type.String({ description: 'Why no response arrived, or why the response is no success.' })),
  request_body: Type.Optional(Type.String({ description: `The event that was sent. ${bodyNote}` })),
  response_body: Type.Optional(Type.String({ description: `The answer of the receiver as text. ${bodyNote}` })),
})

export const Callback = Type.Object(
  {
    request_id: Type.String({ description: 'The request id of the run whose end the callback reports.' }),
    issuer: Type.String(),
    sub: Type.String({ description: 'The caller of the run.' }),
    created_at: Type.String({ format: 'date-time', description: 'When the event was accepted.' }),
    url: Type.String({ description: 'Without user and password; the query is masked for others than the caller of the run.' }),
    status: Status,
    attempts: Type.Array(Attempt, { description: 'The last 100 attempts, oldest first.' }),
    next_attempt_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'Absent before the first attempt, and if no further attempt is planned.' }),
    ),
  },
  {
    examples: [
      {
        request_id: '0199f3c2-7c1e-7d51-b0ab-3f6f1d0c8a11',
        issuer: 'agent-core',
        sub: 'ann',
        created_at: '2026-11-22T08:00:00.000Z',
        url: 'https://hooks.example.com/results',
        status: 'pending',
        attempts: [{ at: '2026-11-22T08:00:04.250Z', status: 503, response_body: 'Try again later.' }],
        next_attempt_at: '2026-11-22T08:00:09.400Z',
      },
    ],
  },
)

export const CallbackPage = Type.Object({
  callbacks: Type.Array(Callback),
  offset: Type.String({ description: '`before` of the next page; empty for an empty page.' }),
  has_more: Type.Boolean(),
})

/** The route that lists callbacks. */
export function callbackListRoute(app: FastifyInstance, { listCallbacks }: { listCallbacks: ListCallbacks }): void {
  app.get(
    '/core/v1/callbacks',
    {
      config: { access: accessTo.readRun },
      schema: {
        tags: ['Runs'],
        summary: 'List callbacks of asynchronous runs with their attempts, newest first',
        description:
          "A caller's own callbacks; with the permission `observability.read`, the callbacks of the tenant, without bodies. `POST /core/v1/runs/{request_id}/callback` sends an undelivered one again.",
        querystring: Query,
        response: { 200: CallbackPage, 422: ValidationReply, ...refusals },
      },
    },
    async (request) => {
      const { status, limit, before } = request.query as Type.Static<typeof Query>
      return listCallbacks(principalOf(request), { status, limit, before })
    },
  )
}
