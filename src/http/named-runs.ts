import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Owner } from '../access/owner.ts'
import type { AuditReads } from '../audit/reads.ts'
import { ServiceError } from '../errors.ts'
import type { RunStore, StoredRun } from '../runs/run-store.ts'
import { createFindRunKey } from '../runs/run-view.ts'
import { isReadable, type RunKey } from '../runs/run.ts'
import type { Runs } from '../runs/runs.ts'
import { Id } from './schemas/shared.ts'
import { principalOf } from './server/authenticate.ts'

/** Runs as requests name them: by the request id, and administrators also by the owner. */

export const whereId = 'Take a `request_id` from `GET /core/v1/runs`, or from the header `request-id` of a chat.'
export const whose =
  'An administrator names the run of another caller by `issuer` and `sub`; where several match, the reply is 409 `AmbiguousRun`.'

export const runParams = Type.Object({ request_id: Id })

/** An optional text of a query. NUL is excluded: Postgres stores no NUL in text. */
export const NamedText = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 1024, pattern: '^[^\\u0000]*$', description }))

export const OwnerQuery = Type.Object({
  issuer: NamedText('The issuer of the owner of the run, for administrators.'),
  sub: NamedText(
    'The sub of the owner of the run, for administrators. Without issuer or sub: the own run, else the only match in the tenant, else 409.',
  ),
})

/** A request that names a run, of another caller perhaps. */
export type RunRequest = FastifyRequest<{ Params: Type.Static<typeof runParams>; Querystring: Type.Static<typeof OwnerQuery> }>

/** The key of the run that a request names. Throws `not_found` and `ambiguous_run`. */
export function keyOfRun(store: Pick<RunStore, 'ownersOf'>, request: RunRequest): Promise<RunKey> {
  const { request_id: requestId } = request.params
  const { issuer, sub } = request.query
  return createFindRunKey(store)(principalOf(request), { requestId, issuer, sub })
}

export interface NamedRunServices {
  runStore: Pick<RunStore, 'ownersOf'>
  auditReads: Pick<AuditReads, 'read'>
}

/** `keyOfRun`, for a route that shows what the run has. The read of another caller's run may be recorded. */
export async function keyOfShownRun({ runStore, auditReads }: NamedRunServices, request: RunRequest): Promise<RunKey> {
  const key = await keyOfRun(runStore, request)
  const principal = principalOf(request)
  if (key.owner !== principal.owner) await auditReads.read(principal, `run:${key.requestId}`)
  return key
}

/** The key of a run of the caller. */
export function ownRunKey({ tenant, owner }: Owner, requestId: string): RunKey {
  return { tenant, owner, requestId }
}

/** Throws `not_found` also for an ended run that is not kept. */
export async function findReadable(store: Pick<RunStore, 'find'>, key: RunKey): Promise<StoredRun> {
  const run = await store.find(key)
  if (!run || !isReadable(run)) throw noRun(key)
  return run
}

export function noRun({ requestId }: RunKey): ServiceError {
  return new ServiceError('not_found', `There is no run ${requestId}.`)
}

/** Cancels a run, unless the run has ended. */
export async function endRun(runs: Pick<Runs, 'cancel'>, run: RunKey): Promise<void> {
  await runs.cancel(run).catch((error: unknown) => {
    if (!(error instanceof ServiceError && error.code === 'run_ended')) throw error
  })
}
