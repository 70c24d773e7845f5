import { isAdmin, ownerOf, type Principal } from '../../access/principal.ts'
import { ServiceError } from '../../errors.ts'
import type { RunKey } from '../run.ts'
import type { RunStore } from '../run-store.ts'

/** A run as a request names it: `issuer` and `sub` say whose it is, where the caller names them. */
export interface NamedRun {
  requestId: string
  issuer: string | undefined
  sub: string | undefined
}

/**
 * The key of the run that a caller names. Administrators reach every run of their tenant: their own first, else the only match, else
 * `ambiguous_run`. Other callers reach their own alone; `not_found` else. Whether a run of the caller's own exists is left to who reads it.
 */
export type FindRunKey = (who: Principal, run: NamedRun) => Promise<RunKey>

export function createFindRunKey(store: Pick<RunStore, 'ownersOf'>): FindRunKey {
  return async (who, { requestId, issuer, sub }) => {
    const { tenant, owner } = who
    const named = ownerOf(issuer ?? who.issuer, sub ?? who.sub)
    if (!isAdmin(who)) {
      if (named !== owner) throw noRun(requestId)
      return { tenant, owner, requestId }
    }
    if (issuer !== undefined && sub !== undefined) return { tenant, owner: named, requestId }
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
