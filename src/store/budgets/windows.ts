import type { Selectable } from 'kysely'
import { type Account, type AccountState, type Limit, type Reservation, serviceTenant } from '../../budgets/budget.ts'
import type { BudgetReservationRow, BudgetWindowRow } from '../tables.ts'

/** A window with the limit of agent.yaml, as the columns of its row. */
export type WindowColumns = Pick<BudgetWindowRow, 'tenant' | 'budget' | 'subject' | 'window_start' | 'scope' | 'usd_limit' | 'tokens_limit'>

export function toColumns(tenant: string, { budget, scope, subject, windowStart, limit }: Account): WindowColumns {
  return {
    // A tenant may be called as the service is: the scope names the owner of the window.
    tenant: scope === 'service' ? serviceTenant : tenant,
    budget,
    subject,
    window_start: windowStart,
    scope,
    usd_limit: limit.nanoUsd ?? null,
    tokens_limit: limit.tokens ?? null,
  }
}

/** The state of a window at `now`; `row` is undefined for a window that nobody has entered. */
export function toState({ limit, ...account }: Account, row: BudgetStateRow | undefined, now: number): AccountState {
  const { budget, scope, subject, windowStart } = account
  const override = row && toOverride(row, now)
  return {
    key: { budget, scope, subject, windowStart },
    spent: { nanoUsd: row?.spent ?? 0, tokens: row?.tokens_spent ?? 0 },
    reserved: { nanoUsd: row?.reserved ?? 0, tokens: row?.tokens_reserved ?? 0 },
    overrun: { nanoUsd: row?.overrun ?? 0, tokens: row?.tokens_overrun ?? 0 },
    estimated: { nanoUsd: row?.estimated ?? 0, tokens: row?.tokens_estimated ?? 0 },
    limit: { ...limit, ...override?.limit },
    override,
    isWarned: row !== undefined && row.warned_at !== null,
  }
}

/** The states of accounts in their order. */
export function toStates(accounts: readonly Account[], rows: readonly BudgetStateRow[], now: number): AccountState[] {
  return accounts.map((account) => {
    const { budget, subject, windowStart } = account
    const row = rows.find((window) => window.budget === budget && window.subject === subject && window.window_start === windowStart)
    return toState(account, row, now)
  })
}

export type BudgetStateRow = Selectable<BudgetWindowRow>

function toOverride(row: BudgetStateRow, now: number): AccountState['override'] {
  if (row.override_until === null || row.override_until <= now) return undefined
  const limit: Limit = {
    ...(row.usd_override !== null && { nanoUsd: row.usd_override }),
    ...(row.tokens_override !== null && { tokens: row.tokens_override }),
  }
  return { limit, until: row.override_until, by: row.override_by ?? '' }
}

export type WindowKey = Pick<BudgetWindowRow, 'tenant' | 'budget' | 'subject' | 'window_start'>

export function whereWindow({ tenant, budget, subject, window_start }: WindowKey): WindowKey {
  return { tenant, budget, subject, window_start }
}

/** Holds an amount on all accounts. Resolves to their states; undefined where an account cannot pay or has ended: then nothing has changed. */
export type Hold = (reservation: Reservation) => Promise<AccountState[] | undefined>

/** A row for each account. */
export function toReservationRows({ accounts, amount, createdAt, ...reservation }: Reservation): BudgetReservationRow[] {
  const { id, tenant, owner, requestId, fence, holder } = reservation
  return accounts.map((account) => {
    const { tenant: window_tenant, budget, subject, window_start } = toColumns(tenant, account)
    const window = { window_tenant, budget, subject, window_start }
    const amounts = { amount: amount.nanoUsd, tokens: amount.tokens, created_at: createdAt }
    return { tenant, id, ...window, owner, request_id: requestId, fence, holder, ...amounts }
  })
}
