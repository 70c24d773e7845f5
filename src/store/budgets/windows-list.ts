import { sql, type RawBuilder } from 'kysely'
import { subOf } from '../../access/owner.ts'
import type { Account } from '../../budgets/budget.ts'
import type { NamedSubject, SubjectStore } from '../../budgets/change-overrides.ts'
import type { ListedWindow, WindowListStore, WindowQuery } from '../../budgets/windows-list.ts'
import { query, type Database } from '../database.ts'
import { whereChat } from '../runs/statements.ts'
import { toState, type BudgetStateRow } from './windows.ts'

/** Reads windows with the runs and sessions that they belong to. */
export function createWindowList({ db, forTenant }: Database): Pick<WindowListStore, 'list'> & SubjectStore {
  return {
    async list(tenant, page) {
      const windows = db
        .selectFrom('budget_windows')
        .leftJoin('sessions', (join) =>
          join.onRef('sessions.key', '=', 'budget_windows.subject').onRef('sessions.tenant', '=', 'budget_windows.tenant'),
        )
        .selectAll('budget_windows')
        .select(['sessions.session_id', 'sessions.owner as session_owner'])
        .where('budget_windows.tenant', '=', tenant)
        .where((is) => is.and([isOneOf(page.accounts.map((account) => isListed(tenant, account, page))), ...boundsOf(page)]))
        .orderBy(sql`budget, subject`)
        .limit(page.limit)
      const { rows } = await query(forTenant(tenant).read, windows)
      return rows.map(({ session_id, session_owner, ...row }): ListedWindow => {
        const account = { ...page.accounts.find(({ budget }) => budget === row.budget)!, subject: row.subject }
        const state = toState(account, row, page.now)
        return { account, state, ...whoseOf(row, session_owner ?? '', session_id ?? undefined) }
      })
    },

    async findSubjects(tenant, scope, id) {
      const { read } = forTenant(tenant)
      if (scope === 'session') {
        const sessions = db.selectFrom('sessions').select(['key', 'owner']).where('tenant', '=', tenant).where('session_id', '=', id)
        return (await query(read, sessions)).rows.map(({ key, owner }): NamedSubject => ({ subject: key, owner }))
      }
      const runs = db.selectFrom('runs').select('owner').where('tenant', '=', tenant).where('request_id', '=', id).where(whereChat)
      return (await query(read, runs)).rows.map(({ owner }): NamedSubject => ({ subject: `${id} ${owner}`, owner }))
    },
  }
}

function isOneOf(conditions: readonly RawBuilder<boolean>[]): RawBuilder<boolean> {
  return sql<boolean>`(${sql.join(conditions, sql` or `)})`
}

/** The current windows of a budget that the reader may read. */
function isListed(tenant: string, { budget, scope, windowStart }: Account, page: WindowQuery): RawBuilder<boolean> {
  const isCurrent = sql`budget = ${budget} and scope = ${scope} and budget_windows.window_start = ${windowStart}`
  const subjects = scope === 'run' ? runsOf(tenant, page) : scope === 'session' ? sessionsOf(tenant, page) : undefined
  return subjects ? sql<boolean>`(${isCurrent} and subject in (${subjects}))` : sql<boolean>`(${isCurrent})`
}

function runsOf(tenant: string, { owner, requestId }: WindowQuery): RawBuilder<unknown> | undefined {
  if (owner === undefined && requestId === undefined) return undefined
  const ofOwner = owner === undefined ? sql`` : sql`and sub = ${subOf({ owner })} and owner = ${owner}`
  const named = requestId === undefined ? sql`` : sql`and request_id = ${requestId}`
  return sql`select request_id || ' ' || owner from runs where tenant = ${tenant} ${ofOwner} ${named}`
}

function sessionsOf(tenant: string, { owner, sessionId }: WindowQuery): RawBuilder<unknown> | undefined {
  if (owner === undefined && sessionId === undefined) return undefined
  const ofOwner = owner === undefined ? sql`` : sql`and owner = ${owner}`
  const named = sessionId === undefined ? sql`` : sql`and session_id = ${sessionId}`
  return sql`select key from sessions where tenant = ${tenant} ${ofOwner} ${named}`
}

function boundsOf({ except, after }: WindowQuery): RawBuilder<boolean>[] {
  const own = except.map(({ budget, subject }) => sql<boolean>`not (budget = ${budget} and subject = ${subject})`)
  return after ? [...own, sql<boolean>`(budget, subject) > (${after.budget}, ${after.subject})`] : own
}

/** The subject of a run is its request id and, after a blank, its owner. A request id has no blanks. */
function whoseOf({ tenant, scope, subject }: BudgetStateRow, owner: string, id: string | undefined): Pick<ListedWindow, 'owner' | 'id'> {
  if (scope === 'caller') return { owner: { tenant, owner: subject } }
  if (scope === 'session') return { owner: { tenant, owner }, id }
  const blank = subject.indexOf(' ')
  return { owner: { tenant, owner: subject.slice(blank + 1) }, id: subject.slice(0, blank) }
}
