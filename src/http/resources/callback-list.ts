import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import { accessTo } from '../../access/permissions.ts'
import type { ListCallbacks } from '../../runs/callbacks/callback-list.ts'
import { principalOf } from '../server/authenticate.ts'
import { InterruptedEvent, Offset, pageLimit, refusals, ValidationReply } from './schemas.ts'
import { named } from '../openapi/named.ts'

const Status = Type.Enum(['pending', 'delivered', 'failed', 'gone'], {
  description:
    '`pending`: attempts follow, or the run has to change first. `delivered`: the receiver answered 2xx. `failed`: the attempts are used up. `gone`: the receiver answered 410.',
})

const Query = Type.Object({ status: Type.Optional(Status), limit: pageLimit, before: Offset })

const bodyNote = 'At most 4 KiB; only on own callbacks, and with the last 10 attempts.'

const Attempt = Type.Object({
  at: Type.String({ format: 'date-time' }),
  event: Type.Optional(InterruptedEvent),
  status: Type.Union([Type.Integer(), Type.Null()], { description: 'HTTP status; null if no response arrived.' }),
  error: Type.Optional(Type.String({ description: 'Why no response arrived, or why the response is no success.' })),
  request_body: Type.Optional(
    Type.String({ description: `What was sent, without the links to files, which each attempt makes anew. ${bodyNote}` }),
  ),
  response_body: Type.Optional(Type.String({ description: `The answer of the receiver as text. ${bodyNote}` })),
})

export const Callback = named(
  'Callback',
  Type.Object({
    request_id: Type.String({ description: 'The request id of the run that the callback reports.' }),
    issuer: Type.String(),
    sub: Type.String({ description: 'The caller of the run.' }),
    created_at: Type.String({ format: 'date-time', description: 'When the event was accepted, or the config was made.' }),
    config_id: Type.Optional(
      Type.String({ description: 'The id of the push notification config, for the notifications of an A2A task; absent for a callback.' }),
    ),
    url: Type.String({ description: 'Without user and password; the query is masked for others than the caller of the run.' }),
    status: Status,
    attempts: Type.Array(Attempt, { description: 'The last 100 attempts, oldest first.' }),
    next_attempt_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'Absent before the first attempt, and if no further attempt is planned.' }),
    ),
  }),
)

export const CallbackPage = named(
  'CallbackPage',
  Type.Object({
    callbacks: Type.Array(Callback),
    offset: Type.String({ description: '`before` of the next page; empty for an empty page.' }),
    has_more: Type.Boolean(),
  }),
)

/** The route that lists callbacks. */
export function callbackListRoute(app: App, { listCallbacks }: { listCallbacks: ListCallbacks }): void {
  app.get(
    '/core/v1/callbacks',
    {
      config: { access: accessTo.readRun },
      schema: {
        tags: ['Runs'],
        summary: 'List callbacks and push notifications with their attempts, newest first',
        description:
          "The callbacks of a caller's own asynchronous runs, and the push notifications of their A2A tasks; with the permission `observability.read`, those of the tenant, without bodies. `POST /core/v1/runs/{request_id}/callback` sends an undelivered callback again.",
        details: () => ({
          description: 'Use it to see which answers did not arrive, and why: `attempts` has the status of each.',
          parameters: { status: 'failed' },
        }),
        querystring: Query,
        response: { 200: CallbackPage, 422: ValidationReply, ...refusals },
      },
    },
    async (request) => {
      const { status, limit, before } = request.query
      return listCallbacks(principalOf(request), { status, limit, before })
    },
  )
}
