import { replies, route, ErrorReply, Id, orNull, namedObject } from '../../schemas/shared.ts'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { App } from '../../server/app.ts'
import { accessTo, permits, type Principal } from '../../../access/permissions.ts'
import type { Artifacts } from '../../../artifacts/artifacts.ts'
import { ServiceError } from '../../../errors.ts'
import type { ApprovalStore } from '../../../runs/approvals/approval-store.ts'
import { toForeignUrl, type Callbacks } from '../../../runs/callbacks/callbacks.ts'
import type { Runs } from '../../../runs/runs.ts'
import { type RunKey, isReadable } from '../../../runs/run.ts'
import type { RunStore, StoredRun } from '../../../runs/run-store.ts'
import { createFindRunKey, toRunView, toSharedView, type RunView } from '../../../runs/run-view.ts'
import { keptFilesOf } from '../../../runs/log/outcome.ts'
import { principalOf } from '../../server/authenticate.ts'
import { disconnectSignal, followNamed, type Exchange, type OpenChat } from '../../reader.ts'
import { lastEventHeader, lastEventNumber, sendRun } from '../../send-run.ts'
import { streamChunks } from '../../doors/core/projection.ts'
import { waitingFields, InterruptedEvent, eventStream, ChainAnswer } from '../../schemas/chat.ts'

export const whereId = 'Take a `request_id` from `GET /core/v1/runs`, or from the header `request-id` of a chat.'
export const whose =
  'An administrator names the run of another caller by `issuer` and `sub`; where several match, the reply is 409 `AmbiguousRun`.'

interface RunServices {
  artifacts: Pick<Artifacts, 'toAnswerFiles'>
  runs: Runs
  runStore: Pick<RunStore, 'find' | 'ownersOf'>
  callbacks: Pick<Callbacks, 'find' | 'resend'>
  openCalls: Pick<ApprovalStore, 'openOf'>
}

const params = Type.Object({ request_id: Id })

/** NUL is excluded: Postgres stores no NUL in text. */
const Name = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 1024, pattern: '^[^\\u0000]*$', description }))

export const OwnerQuery = Type.Object({
  issuer: Name('The issuer of the owner of the run, for administrators.'),
  sub: Name(
    'The sub of the owner of the run, for administrators. Without issuer or sub: the own run, else the only match in the tenant, else 409.',
  ),
})

export const Run = namedObject('Run', {
  request_id: Type.String(),
  session_id: Type.String(),
  status: Type.Enum(['pending', 'running', 'interrupted', 'success', 'error', 'timeout', 'cancelled']),
  created_at: Type.String(),
  started_at: orNull(Type.String()),
  ended_at: orNull(Type.String()),
  outcome: Type.Optional(ChainAnswer.properties.body),
  error: Type.Optional(ErrorReply),
  ...waitingFields,
  callback: Type.Optional(
    Type.Object({
      url: Type.String(),
      status: Type.Enum(['pending', 'delivered', 'failed', 'gone']),
      attempts: Type.Array(
        Type.Object({
          at: Type.String(),
          event: Type.Optional(InterruptedEvent),
          status: orNull(Type.Integer(), 'HTTP status; null if no response arrived.'),
          error: Type.Optional(Type.String()),
        }),
      ),
    }),
  ),
})

const ended = Type.Null({ description: 'The run has ended and `last-event-id` is its last event.' })
const runReplies = replies({ 200: Run }, 404, 409, 410, 422)

export type ViewServices = Pick<RunServices, 'callbacks' | 'openCalls' | 'artifacts'> & { runStore: Pick<RunStore, 'find'> }

/** The view of a run for a caller: without `runs.read` only its state. Throws `not_found` for an unknown run. */
export async function readRunView(services: ViewServices, principal: Principal, key: RunKey): Promise<RunView> {
  const run = await services.runStore.find(key)
  if (!run) throw noRun(key)
  return viewRun(services, principal, run)
}

async function viewRun(
  { callbacks, openCalls, artifacts }: Omit<ViewServices, 'runStore'>,
  principal: Principal,
  run: StoredRun,
): Promise<RunView> {
  const open = run.status === 'interrupted' ? await openCalls.openOf(run) : undefined
  if (!permits(principal, accessTo.readRun)) return toSharedView(run, open)
  const callback = run.operation === 'chain_async' ? await callbacks.find(run) : undefined
  const kept = run.endedAt === undefined ? undefined : keptFilesOf(run)
  const files = kept ? await artifacts.toAnswerFiles(kept, permits(principal, accessTo.linkArtifact)) : []
  const isOwn = run.owner === principal.owner
  return toRunView(run, { callback: callback && !isOwn ? { ...callback, url: toForeignUrl(callback.url) } : callback, open, files })
}

function noRun({ requestId }: RunKey): ServiceError {
  return new ServiceError('not_found', `There is no run ${requestId}.`)
}

type RunRequest = FastifyRequest<{ Params: Type.Static<typeof params>; Querystring: Type.Static<typeof OwnerQuery> }>

/** Routes of runs, which are named by their request ids. */
export function runRoutes(app: App, services: RunServices): void {
  const { runs, callbacks } = services
  const findKey = createFindRunKey(services.runStore)
  const runKeyOf = (request: RunRequest): Promise<RunKey> => {
    const { request_id: requestId } = request.params
    const { issuer, sub } = request.query
    return findKey(principalOf(request), { requestId, issuer, sub })
  }

  /** Throws `not_found` also for an ended run that is not kept. */
  const findReadable = async (key: RunKey): Promise<StoredRun> => {
    const run = await services.runStore.find(key)
    if (!run || !isReadable(run)) throw noRun(key)
    return run
  }

  app.get(
    '/core/v1/runs/:request_id',
    route(accessTo.readRun, 'Runs', {
      summary: 'Get a run',
      text: `The state of a run and, once it has ended, its \`outcome\`: the same object as \`body\` of \`POST /core/v1/chain\`. Use it to poll an asynchronous chat, or to read an answer again. A run that failed has \`error\`, one that waits for decisions has \`approval_required\`, one that waits for its client \`client_tool_calls\`, one with a callback has \`callback\`.

${whereId} ${whose} A run is kept for \`retention.runs\` days; after its session is deleted, it is 410.`,
      params,
      querystring: OwnerQuery,
      response: runReplies,
    }),
    async (request) => {
      const key = await runKeyOf(request)
      return viewRun(services, principalOf(request), await findReadable(key))
    },
  )

  app.delete(
    '/core/v1/runs/:request_id',
    route(accessTo.cancelRun, 'Runs', {
      summary: 'Cancel a run',
      text: `Stops a run and answers with it. What the run had so far is kept in its session.

${whereId} ${whose} A run that has ended is 409 \`RunEnded\`.`,
      params,
      querystring: OwnerQuery,
      response: runReplies,
    }),
    async (request) => {
      const key = await runKeyOf(request)
      await findReadable(key)
      await runs.cancel(key)
      return readRunView(services, principalOf(request), key)
    },
  )

  app.post(
    '/core/v1/runs/:request_id/callback',
    route('runs.write', 'Runs', {
      summary: 'Send an undelivered callback again now',
      text: `Makes one attempt at once, for a receiver that was away. The reply is the run, with the attempt in \`callback\`, whatever its result.

Take a \`request_id\` from \`GET /core/v1/callbacks?status=failed\`. A callback that was delivered is 409 \`CallbackDelivered\`, a run that has not ended 409 \`RunNotEnded\`, a run without a callback 404. A push notification of an A2A task, which has a \`config_id\`, is not sent again on request.`,
      params,
      response: runReplies,
    }),
    async (request, reply) => {
      const key = ownRunKey(request, request.params.request_id)
      await callbacks.resend(key, disconnectSignal(reply))
      return readRunView(services, principalOf(request), key)
    },
  )

  async function follow(key: RunKey, exchange: Exchange): Promise<OpenChat> {
    await findReadable(key)
    return followNamed(services, exchange, key)
  }

  app.get(
    '/core/v1/runs/:request_id/stream',
    {
      ...route(accessTo.readRun, 'Runs', {
        summary: 'Stream the events of a run, from the start or after last-event-id, then live',
        text: `The events of a run from the first one, or after the one that \`last-event-id\` names, then live until its end: nothing is lost or repeated. Use it after a broken connection, and to watch a run that somebody else started. The chunks are those of \`POST /core/v1/chain_streaming\`. 204 means that there are no further events.

${whereId} ${whose} A run that failed before its first event is answered with its error.`,
        params,
        querystring: OwnerQuery,
        headers: Type.Object(lastEventHeader),
        // A run that failed before its first event is answered with its error; 409 also means an ambiguous id.
        response: replies({ 200: eventStream, 204: ended }, 404, 409, 410, 422, 502),
      }),
      // A HEAD request would read the whole run without a reader.
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      const key = await runKeyOf(request)
      const after = lastEventNumber(request, key.requestId)
      const opening = { chat: follow(key, { request, reply }) }
      return sendRun(reply, opening, { after, render: () => streamChunks(key.requestId) })
    },
  )
}

/** The caller's own run. */
function ownRunKey(request: FastifyRequest, requestId: string): RunKey {
  const { tenant, owner } = principalOf(request)
  return { tenant, owner, requestId }
}
