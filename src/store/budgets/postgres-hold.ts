import type { Database } from '../database.ts'
import { toColumns, toStates, type BudgetStateRow, type Hold } from './windows.ts'

/** SQLSTATE of a division by zero, with which the statement undoes itself. */
const divisionByZero = '22012'

/**
 * One statement that holds an amount on all windows, in the order of their keys, or on none: where a window cannot pay, the statement divides by
 * zero, and the server undoes all of the statement. The server's clock decides whether the windows are those of the present.
 */
export function holdOnServer({ forTenant }: Pick<Database, 'forTenant'>): Hold {
  return async (reservation) => {
    const { tenant, accounts, amount, createdAt, id, owner, requestId, fence, holder } = reservation
    const windows = accounts.map((account) => toColumns(tenant, account))
    const values = [
      windows.map((window) => window.tenant),
      windows.map(({ budget }) => budget),
      windows.map(({ subject }) => subject),
      windows.map(({ window_start }) => window_start),
      accounts.map(({ resetsAt }) => resetsAt ?? null),
      windows.map(({ scope }) => scope),
      windows.map(({ usd_limit }) => usd_limit),
      windows.map(({ tokens_limit }) => tokens_limit),
      amount.nanoUsd,
      amount.tokens,
      ...[tenant, id, owner, requestId, fence, holder, createdAt],
    ]
    try {
      return toStates(accounts, (await forTenant(tenant).write.execute<BudgetStateRow>(statement, values)).rows, createdAt)
    } catch (error) {
      if (error instanceof Error && (error as { code?: unknown }).code === divisionByZero) return undefined
      throw error
    }
  }
}

const clock = '(extract(epoch from clock_timestamp()) * 1000)::bigint'

/** The limit in force: an override counts until its time, part by part. */
function limitOf(part: 'usd' | 'tokens'): string {
  return `case when held.override_until > ${clock} then coalesce(held.${part}_override, excluded.${part}_limit) else excluded.${part}_limit end`
}

function fits(used: string, limit: string): string {
  return `${used} <= coalesce(${limit}, ${used})`
}

const usd = 'held.spent + held.reserved + excluded.reserved'
const tokens = 'held.tokens_spent + held.tokens_reserved + excluded.tokens_reserved'

const statement = `with wanted as (
    select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::bigint[])
      as wanted (tenant, budget, subject, window_start, window_end, scope, usd_limit, tokens_limit)
    order by tenant, budget, subject, window_start
  ), entered as (
    insert into budget_windows as held (tenant, budget, subject, window_start, scope, usd_limit, tokens_limit, reserved, tokens_reserved)
    select tenant, budget, subject, window_start, scope, usd_limit, tokens_limit, $9::bigint, $10::bigint from wanted
    where ${clock} >= window_start and ${clock} < coalesce(window_end, ${clock} + 1)
      and (${fits('$9::bigint', 'usd_limit')} and ${fits('$10::bigint', 'tokens_limit')} or exists (
        select from budget_windows as known where known.tenant = wanted.tenant and known.budget = wanted.budget
          and known.subject = wanted.subject and known.window_start = wanted.window_start))
    on conflict (tenant, budget, subject, window_start) do update set
      reserved = held.reserved + excluded.reserved, tokens_reserved = held.tokens_reserved + excluded.tokens_reserved,
      usd_limit = excluded.usd_limit, tokens_limit = excluded.tokens_limit
    where ${fits(usd, limitOf('usd'))} and ${fits(tokens, limitOf('tokens'))}
    returning held.*
  ), kept as (
    insert into budget_reservations (tenant, id, window_tenant, budget, subject, window_start, owner, request_id, fence, holder, amount, tokens, created_at)
    select $11, $12, tenant, budget, subject, window_start, $13, $14, $15::integer, $16, $9::bigint, $10::bigint, $17::bigint from wanted
    where 1 / (case when (select count(*) from entered) = cardinality($1::text[]) then 1 else 0 end) = 1
  )
  select * from entered`
