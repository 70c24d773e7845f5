import { accessTo, lacking, permits } from '../../access/operations.ts'
import { subOf } from '../../access/owner.ts'
import type { Principal } from '../../access/principal.ts'
import { ServiceError } from '../../errors.ts'
import type { RunKey } from '../run.ts'
import type { ApprovalCaller, StoredCall } from './approval-store.ts'

export function toApprovalCaller(caller: Principal): ApprovalCaller {
  return { ...ownerOf(caller), mayApprove: caller.permissions.has('runs.approve') }
}

export function ownerOf({ tenant, owner }: Principal) {
  return { tenant, owner }
}

/** True if the caller is the run's owner. Equal `sub`s count as the same person, from any issuer. */
function isOwn({ sub }: Principal, call: RunKey): boolean {
  return subOf(call) === sub
}

/**
 * The owner of the run decides calls with `by: caller`, and answers calls with `by: client`. Another person, with `runs.approve`, decides
 * calls with `by: role`.
 */
export function mayDecide(caller: Principal, call: StoredCall): boolean {
  switch (call.by) {
    case 'caller':
      return call.owner === caller.owner && permits(caller, accessTo.decideCall)
    case 'client':
      return call.owner === caller.owner && permits(caller, accessTo.answerCall)
    case 'role':
      return !isOwn(caller, call) && caller.permissions.has('runs.approve')
  }
}

export function refusalFor({ by }: StoredCall): ServiceError {
  if (by === 'client') return lacking(accessTo.answerCall)
  if (by === 'caller') return lacking(accessTo.decideCall)
  return new ServiceError(
    'forbidden',
    'RBAC: access denied: only another caller, whose key has the permission runs.approve, may decide this call.',
  )
}
