import type { Principal } from '../../access/permissions.ts'
import { accountsOf, toLimit } from '../../budgets/accounts.ts'
import type { Account } from '../../budgets/budget.ts'
import type { OverrideRules } from '../../budgets/overrides.ts'
import type { Budget } from '../../configuration/budget-schema.ts'
import type { StoredRun } from '../run-store.ts'
import type { Raise, RaisedLimit, StoredCall } from './approval-store.ts'

/**
 * The higher limit of the window that a run has found used up. Undefined where the budget does not count the run any more, so that nothing keeps
 * it from going on. Throws `forbidden`, or a validation error for a part that the budget does not limit.
 */
export type ToRaise = (caller: Principal, call: StoredCall, run: StoredRun, more: RaisedLimit) => Promise<Raise | undefined>

interface RaiseOptions {
  /** The budgets of the current configuration. */
  budgets(): readonly Budget[]
  rules: Pick<OverrideRules, 'raise'>
  now(): number
}

export function createToRaise({ budgets, rules, now }: RaiseOptions): ToRaise {
  return async (caller, call, run, more) => {
    const account = accountOf(call, run, budgets(), now())
    return account && { account, change: await rules.raise(caller, account, toLimit(more)) }
  }
}

/** The used-up window of a budget: the window that ends at `resets_at` of the run, so that no later window gets the limit. */
function accountOf({ tool: name, input }: StoredCall, run: StoredRun, budgets: readonly Budget[], now: number): Account | undefined {
  const { tenant, owner, requestId, session, operation, request } = run
  const { resets_at: resets } = input
  const payer = { tenant, owner, requestId, operation, roles: request?.roles, ...(session !== undefined && { session }) }
  const at = typeof resets === 'string' ? Date.parse(resets) - 1 : now
  return accountsOf(
    budgets.filter((budget) => budget.name === name),
    payer,
    at,
  )[0]
}
