import { isAdmin, ownerOf, type Principal } from '../../access/permissions.ts'
import { ServiceError } from '../../errors.ts'
import type { RunKey } from '../run.ts'
import type { RunStore } from '../run-store.ts'

/** A run as named by a request. `issuer` and `sub` identify the owner, where the caller names an owner. */
export interface NamedRun {
  requestId: string
  issuer: string | undefined
  sub: string | undefined
}

/**
 * Resolves to the key of a named run. Administrators reach every run of the tenant: an own run first, otherwise the only match, otherwise
 * `ambiguous_run`. Other callers reach only own runs and get `not_found` for all others. The existence of an own run is not checked.
 */
export type FindRunKey = (principal: Principal, run: NamedRun) => Promise<RunKey>

export function createFindRunKey(store: Pick<RunStore, 'ownersOf'>): FindRunKey {
  return async (principal, { requestId, issuer, sub }) => {
    const { tenant, owner } = principal
    const namedOwner = ownerOf(issuer ?? principal.issuer, sub ?? principal.sub)
    if (!isAdmin(principal)) {
      if (namedOwner !== owner) throw noRun(requestId)
      return { tenant, owner, requestId }
    }
    if (issuer !== undefined && sub !== undefined) return { tenant, owner: namedOwner, requestId }
    const [first, second] = await store.ownersOf({ tenant, owner, requestId }, { issuer, sub })
    if (first === undefined) throw noRun(requestId)
    if (first !== owner && second !== undefined) throw ambiguous(requestId)
    return { tenant, owner: first, requestId }
  }
}

function noRun(requestId: string): ServiceError {
  return new ServiceError('not_found', `There is no run ${requestId}.`)
}

function ambiguous(requestId: string): ServiceError {
  return new ServiceError(
    'ambiguous_run',
    `Several callers have a run ${requestId}: name the owner of the run by the parameters issuer and sub.`,
  )
}
