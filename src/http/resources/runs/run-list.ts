import { replies, route, Id, Offset, pageLimit, Time, toTime, orNull, optionalText, namedObject, pageFields } from '../../schemas/shared.ts'
import { Type } from 'typebox'
import type { App } from '../../server/app.ts'
import { accessTo } from '../../../access/permissions.ts'
import { invalid } from '../../../errors.ts'
import type { ListRuns } from '../../../runs/run-list.ts'
import { principalOf } from '../../server/authenticate.ts'
import { NamedText } from '../../named-runs.ts'
import { Run } from './runs.ts'
import type { ListCallbacks } from '../../../runs/callbacks/callback-list.ts'
import { InterruptedEvent } from '../../schemas/chat.ts'

const Operation = Type.Enum(['chain', 'chain_streaming', 'chain_async', 'schedule'])

const Query = Type.Object({
  status: Type.Optional(Type.Index(Run, ['status'])),
  session_id: Type.Optional(Id),
  operation: Type.Optional(Operation),
  sub: NamedText('Runs of the callers with this `sub`, of any issuer.'),
  tool: NamedText('Ended runs that have called this tool.'),
  tool_errors: Type.Optional(
    Type.Boolean({ description: '`true`: ended runs in which a tool call has failed, whatever their status; `false`: the other runs.' }),
  ),
  version: NamedText('Runs that were executed with this version of the configuration.'),
  since: Time('Runs accepted at this time or later.'),
  until: Time('Runs accepted before this time.'),
  limit: pageLimit,
  before: Offset,
})

const RunSummary = namedObject('RunSummary', {
  request_id: Type.String(),
  session_id: Type.String(),
  issuer: Type.String({ description: 'The issuer of the key that started the run.' }),
  sub: Type.String({ description: 'The caller of the run.' }),
  operation: Operation,
  schedule_id: optionalText('The schedule that has started the run, with the operation `schedule`.'),
  status: Type.Index(Run, ['status']),
  created_at: Type.String({ format: 'date-time' }),
  started_at: orNull(Type.String({ format: 'date-time' }), 'Null while the run waits.'),
  ended_at: orNull(Type.String({ format: 'date-time' }), 'Null until the end of the run.'),
  input: orNull(Type.String(), 'The first 200 characters of the question. Null for a run of another caller, except for administrators.'),
  tokens: Type.Integer({ description: 'Prompt and completion tokens of all model calls; 0 until the end of the run.' }),
  cost: orNull(Type.Number(), 'USD. Null until the end of the run, and if no price is known for the models of the run.'),
  tool_errors: Type.Integer({ description: 'Failed tool calls; 0 until the end of the run.' }),
  error_type: orNull(Type.String(), '`details.error_type` of the error of a failed run.'),
  config_version: orNull(Type.String(), 'The version of the configuration that executed the run.'),
  continues: optionalText('The run whose undelivered message this run answers; absent for other runs.'),
})

export const RunPage = namedObject('RunPage', {
  runs: Type.Array(RunSummary),
  ...pageFields,
})

const Status = Type.Enum(['pending', 'delivered', 'failed', 'gone'], {
  description:
    '`pending`: attempts follow, or the run has to change first. `delivered`: the receiver answered 2xx. `failed`: the attempts are used up. `gone`: the receiver answered 410.',
})

const CallbackQuery = Type.Object({ status: Type.Optional(Status), limit: pageLimit, before: Offset })

const bodyNote = 'At most 4 KiB; only on own callbacks, and with the last 10 attempts.'

const Attempt = Type.Object({
  at: Type.String({ format: 'date-time' }),
  event: Type.Optional(InterruptedEvent),
  status: orNull(Type.Integer(), 'HTTP status; null if no response arrived.'),
  error: optionalText('Why no response arrived, or why the response is no success.'),
  request_body: optionalText(`What was sent, without the links to files, which each attempt makes anew. ${bodyNote}`),
  response_body: optionalText(`The answer of the receiver as text. ${bodyNote}`),
})

const Callback = namedObject('Callback', {
  request_id: Type.String({ description: 'The request id of the run that the callback reports.' }),
  issuer: Type.String(),
  sub: Type.String({ description: 'The caller of the run.' }),
  created_at: Type.String({ format: 'date-time', description: 'When the event was accepted, or the config was made.' }),
  config_id: optionalText('The id of the push notification config, for the notifications of an A2A task; absent for a callback.'),
  url: Type.String({ description: 'Without user and password; the query is masked for others than the caller of the run.' }),
  status: Status,
  attempts: Type.Array(Attempt, { description: 'The last 100 attempts, oldest first.' }),
  next_attempt_at: Type.Optional(
    Type.String({ format: 'date-time', description: 'Absent before the first attempt, and if no further attempt is planned.' }),
  ),
})

export const CallbackPage = namedObject('CallbackPage', {
  callbacks: Type.Array(Callback),
  ...pageFields,
})

/** The route that lists runs. */
export function runListRoute(app: App, { listRuns }: { listRuns: ListRuns }): void {
  app.get(
    '/core/v1/runs',
    route(accessTo.readRun, 'Runs', {
      summary: 'List runs, newest first',
      description:
        "A caller's own runs; with the permission `observability.read`, the runs of the tenant. Filters may be combined. Direct executions of tools are not listed.",
      text: 'Use it to find a run by its state, tool, caller or time. For its answer, use `GET /core/v1/runs/{request_id}`.',
      parameters: {
        status: 'success',
        operation: 'chain',
        tool: 'sales',
        tool_errors: true,
        sub: 'ann',
        since: '2026-01-01',
        until: '2100-01-01',
      },
      querystring: Query,
      response: replies({ 200: RunPage }, 422),
    }),
    async (request) => {
      const {
        status,
        session_id: sessionId,
        operation,
        sub,
        tool,
        tool_errors: toolErrors,
        version,
        limit,
        before,
        ...times
      } = request.query
      const [since, until] = [toTime('since', times.since), toTime('until', times.until)]
      if (since !== undefined && until !== undefined && until < since) throw invalid(['query', 'until'], 'is before since')
      return listRuns(principalOf(request), { status, sessionId, operation, sub, tool, toolErrors, version, since, until, limit, before })
    },
  )
}

/** The route that lists callbacks. */
export function callbackListRoute(app: App, { listCallbacks }: { listCallbacks: ListCallbacks }): void {
  app.get(
    '/core/v1/callbacks',
    route(accessTo.readRun, 'Runs', {
      summary: 'List callbacks and push notifications with their attempts, newest first',
      description:
        "The callbacks of a caller's own asynchronous runs, and the push notifications of their A2A tasks; with the permission `observability.read`, those of the tenant, without bodies. `POST /core/v1/runs/{request_id}/callback` sends an undelivered callback again.",
      text: 'Use it to see which answers did not arrive, and why: `attempts` has the status of each.',
      parameters: { status: 'failed' },
      querystring: CallbackQuery,
      response: replies({ 200: CallbackPage }, 422),
    }),
    async (request) => {
      const { status, limit, before } = request.query
      return listCallbacks(principalOf(request), { status, limit, before })
    },
  )
}
