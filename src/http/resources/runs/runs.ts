import { replies, route, ErrorReply, orNull, namedObject, optionalText } from '../../schemas/shared.ts'
import { Type } from 'typebox'
import type { AuditReads } from '../../../audit/reads.ts'
import type { App } from '../../server/app.ts'
import { accessTo, permits, type Principal } from '../../../access/permissions.ts'
import type { Artifacts } from '../../../artifacts/artifacts.ts'
import type { ApprovalStore } from '../../../runs/approvals/approval-store.ts'
import { toForeignUrl, type Callbacks } from '../../../runs/callbacks/callbacks.ts'
import type { Runs } from '../../../runs/runs.ts'
import { isAsyncRun, type RunKey } from '../../../runs/run.ts'
import type { RunStore, StoredRun } from '../../../runs/run-store.ts'
import { toRunView, toSharedView, type RunView } from '../../../runs/run-view.ts'
import { keptFilesOf } from '../../../runs/log/outcome.ts'
import { findReadable, keyOfRun, keyOfShownRun, noRun, OwnerQuery, ownRunKey, runParams, whereId, whose } from '../../named-runs.ts'
import { principalOf } from '../../server/authenticate.ts'
import { disconnectSignal } from '../../reader.ts'
import { waitingFields, InterruptedEvent, ChainAnswer } from '../../schemas/chat.ts'

interface RunServices {
  artifacts: Pick<Artifacts, 'toAnswerFiles'>
  runs: Runs
  runStore: Pick<RunStore, 'find' | 'ownersOf'>
  auditReads: Pick<AuditReads, 'read'>
  callbacks: Pick<Callbacks, 'find' | 'resend'>
  openCalls: Pick<ApprovalStore, 'openOf'>
}

export const Run = namedObject('Run', {
  request_id: Type.String(),
  session_id: Type.String(),
  status: Type.Enum(['pending', 'running', 'interrupted', 'success', 'error', 'timeout', 'cancelled']),
  created_at: Type.String(),
  started_at: orNull(Type.String()),
  ended_at: orNull(Type.String()),
  outcome: Type.Optional(ChainAnswer.properties.body),
  error: Type.Optional(ErrorReply),
  continues: optionalText('The run whose undelivered message this run answers; absent for other runs.'),
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
  const callback = isAsyncRun(run) ? await callbacks.find(run) : undefined
  const kept = run.endedAt === undefined ? undefined : keptFilesOf(run)
  const files = kept ? await artifacts.toAnswerFiles(kept, permits(principal, accessTo.linkArtifact)) : []
  const isOwn = run.owner === principal.owner
  return toRunView(run, { callback: callback && !isOwn ? { ...callback, url: toForeignUrl(callback.url) } : callback, open, files })
}

/** Routes of runs, which are named by their request ids. */
export const runRoutes = [readRoute, cancelRoute, callbackRoute] as const

function readRoute(app: App, services: RunServices): void {
  app.get(
    '/core/v1/runs/:request_id',
    route(accessTo.readRun, 'Runs', {
      summary: 'Get a run',
      text: `The state of a run and, once it has ended, its \`outcome\`: the same object as \`body\` of \`POST /core/v1/chain\`. Use it to poll an asynchronous chat, or to read an answer again. A run that failed has \`error\`, one that waits for decisions has \`approval_required\`, one that waits for its client \`client_tool_calls\`, one with a callback has \`callback\`.

${whereId} ${whose} A run is kept for \`retention.runs\` days; after its session is deleted, it is 410.`,
      params: runParams,
      querystring: OwnerQuery,
      response: runReplies,
    }),
    async (request) => {
      const key = await keyOfShownRun(services, request)
      return viewRun(services, principalOf(request), await findReadable(services.runStore, key))
    },
  )
}

function cancelRoute(app: App, services: RunServices): void {
  app.delete(
    '/core/v1/runs/:request_id',
    route(accessTo.cancelRun, 'Runs', {
      summary: 'Cancel a run',
      text: `Stops a run and answers with it. What the run had so far is kept in its session.

${whereId} ${whose} A run that has ended is 409 \`RunEnded\`.`,
      params: runParams,
      querystring: OwnerQuery,
      response: runReplies,
    }),
    async (request) => {
      const key = await keyOfRun(services.runStore, request)
      await findReadable(services.runStore, key)
      await services.runs.cancel(key)
      return readRunView(services, principalOf(request), key)
    },
  )
}

function callbackRoute(app: App, services: RunServices): void {
  app.post(
    '/core/v1/runs/:request_id/callback',
    route('runs.write', 'Runs', {
      summary: 'Send an undelivered callback again now',
      text: `Makes one attempt at once, for a receiver that was away. The reply is the run, with the attempt in \`callback\`, whatever its result.

Take a \`request_id\` from \`GET /core/v1/callbacks?status=failed\`. A callback that was delivered is 409 \`CallbackDelivered\`, a run that has not ended 409 \`RunNotEnded\`, a run without a callback 404. A push notification of an A2A task, which has a \`config_id\`, is not sent again on request.`,
      params: runParams,
      response: runReplies,
    }),
    async (request, reply) => {
      const key = ownRunKey(principalOf(request), request.params.request_id)
      await services.callbacks.resend(key, disconnectSignal(reply))
      return readRunView(services, principalOf(request), key)
    },
  )
}
