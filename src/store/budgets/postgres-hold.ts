import type { AccountState, Reservation } from '../../budgets/budget.ts'
import { CommitUnknown, type Database } from '../database.ts'
import { toText } from '../rows.ts'
import { createChatGroups, definitionsOf, namesOf, refusedEscape, type Attempt } from '../runs/chat-groups.ts'
import { listSteps } from './settle.ts'
import { toColumns, toStates, type BudgetStateRow, type Hold } from './windows.ts'

/** SQLSTATE of a division by zero, with which a statement undoes itself. */
const divisionByZero = '22012'

/** True for the error of a statement that holds amounts where a window cannot pay or has ended: then nothing has changed. */
export function isUnpaid(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === divisionByZero
}

/**
 * Holds amounts on a server, each on all of the amount's windows or on none. Reservations that arrive during a statement share the next
 * statement. Where a window cannot pay a whole group, each reservation is stored alone.
 */
export function holdOnServer({ forTenant }: Pick<Database, 'forTenant'>): Hold {
  const store = async (tenant: string, rows: string) =>
    (await forTenant(tenant).write.execute<BudgetStateRow>(statement, [tenant, rows])).rows

  const join = createChatGroups<BudgetStateRow[]>(async (tenant, rows, size) => {
    const states = await store(tenant, rows)
    return new Map(Array.from({ length: size }, (_, n) => [n, states]))
  })

  async function storeAlone(tenant: string, row: string): Promise<Attempt<BudgetStateRow[]>> {
    try {
      return { kind: 'done', result: await store(tenant, `[${row}]`) }
    } catch (error) {
      if (isUnpaid(error)) return { kind: 'unchanged' }
      throw error
    }
  }

  return async (reservation): Promise<AccountState[] | undefined> => {
    const { tenant, accounts, createdAt } = reservation
    const row = toReservationJson(reservation)
    const attempt = await join(tenant, { row, keys: [], alone: () => storeAlone(tenant, row) })
    if (attempt.kind === 'unknown') throw new CommitUnknown(undefined)
    return attempt.kind === 'done' ? toStates(accounts, attempt.result, createdAt) : undefined
  }
}

/** The JSON object with `reservationColumns`. */
export function toReservationJson({ tenant, accounts, amount, createdAt, ...reservation }: Reservation): string {
  const { id, owner, requestId, fence, holder } = reservation
  const windows = accounts.map((account) => ({ ...toColumns(tenant, account), window_end: account.resetsAt ?? null }))
  const amounts = { amount: amount.nanoUsd, tokens: amount.tokens, created_at: createdAt }
  return toValidJson({ id, owner, request_id: requestId, fence, holder, ...amounts, accounts: windows })
}

/** Postgres refuses the escapes of NUL and of half a surrogate pair. */
function toValidJson(value: object): string {
  const text = JSON.stringify(value)
  if (!refusedEscape.test(text)) return text
  return JSON.stringify(value, (_, field: unknown) => (typeof field === 'string' ? toText(field).toWellFormed() : field))
}

const columns = {
  id: 'text',
  owner: 'text',
  request_id: 'text',
  fence: 'integer',
  holder: 'text',
  amount: 'bigint',
  tokens: 'bigint',
  created_at: 'bigint',
} as const
const windowColumns = { tenant: 'text', budget: 'text', subject: 'text', window_start: 'bigint' } as const
const limitColumns = { window_end: 'bigint', scope: 'text', usd_limit: 'bigint', tokens_limit: 'bigint' } as const

/** The columns of `toReservationJson`. */
export const reservationColumns = `${definitionsOf(columns)}, accounts json`

const key = namesOf(windowColumns)
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

/**
 * The steps of a statement that hold amounts on all windows, in the order of their keys, or undo all of the statement: where a window cannot pay, the
 * statement divides by zero. The server's clock decides whether the windows are those of the present. `asked` selects the tenant and the
 * `reservationColumns`. The windows are locked when `isReady` is true: transactions that lock other rows too lock the windows last.
 */
export function stepsOfHold(asked: string, isReady = 'true') {
  return {
    asked,
    wanted: `select asked.tenant as payer, ${namesOf(columns)}, account.* from asked
      cross join lateral json_to_recordset(asked.accounts) as account (${definitionsOf({ ...windowColumns, ...limitColumns })})`,
    summed: `select ${key}, ${namesOf(limitColumns)}, sum(amount)::bigint as reserved, sum(tokens)::bigint as tokens_reserved
      from wanted where ${isReady} group by ${key}, ${namesOf(limitColumns)} order by ${key}`,
    paid: `insert into budget_windows as held (${key}, scope, usd_limit, tokens_limit, reserved, tokens_reserved)
      select ${key}, scope, usd_limit, tokens_limit, reserved, tokens_reserved from summed
      where ${clock} >= window_start and ${clock} < coalesce(window_end, ${clock} + 1)
        and (${fits('reserved', 'usd_limit')} and ${fits('tokens_reserved', 'tokens_limit')} or exists (
          select from budget_windows as known where known.tenant = summed.tenant and known.budget = summed.budget
            and known.subject = summed.subject and known.window_start = summed.window_start))
      on conflict (${key}) do update set
        reserved = held.reserved + excluded.reserved, tokens_reserved = held.tokens_reserved + excluded.tokens_reserved,
        usd_limit = excluded.usd_limit, tokens_limit = excluded.tokens_limit
      where ${fits(usd, limitOf('usd'))} and ${fits(tokens, limitOf('tokens'))}
      returning held.*`,
    kept: `insert into budget_reservations (tenant, ${namesOf(columns)}, window_tenant, budget, subject, window_start)
      select payer, ${namesOf(columns)}, ${key} from wanted
      where 1 / (case when (select count(*) from paid) = (select count(*) from summed) then 1 else 0 end) = 1`,
  }
}

const statement = `with ${listSteps(
  stepsOfHold(`select cast($1 as text) as tenant, given.* from json_to_recordset(cast($2 as json)) as given (${reservationColumns})`),
)} select * from paid`
