import { issuerOf, subOf, type Owner } from '../access/owner.ts'
import type { Principal } from '../access/permissions.ts'
import type { Budget, BudgetScope } from '../configuration/budget-schema.ts'
import { invalid } from '../errors.ts'
import { parsePosition, toOffset } from '../json/offset.ts'
import { isFor, toAccount } from './accounts.ts'
import { serviceSubject, type Account, type AccountState, type BudgetStore } from './budget.ts'
import { leftIn, mayRead, toAmountView, toLimitView } from './refusal.ts'

/** A window of a budget, and whose it is. */
export interface ListedWindow {
  account: Account
  state: AccountState
  /** The owner of a run, session or caller. */
  owner?: Owner | undefined
  /** The request id of a run, or the id of a session. */
  id?: string | undefined
}

/** Which windows a page has beside those of the caller itself, in the order of budget and subject. */
export interface WindowQuery {
  /** The current window of each budget; the subjects are empty. */
  accounts: readonly Account[]
  /** Windows of this owner's runs and sessions alone; undefined: of all in the tenant. */
  owner: string | undefined
  requestId: string | undefined
  sessionId: string | undefined
  /** Windows that have their place in the list already. */
  except: readonly Account[]
  after: Pick<Account, 'budget' | 'subject'> | undefined
  limit: number
  /** Epoch milliseconds of the database. */
  now: number
}

/** Port: lists windows that calls have entered, or that have an override. */
export interface WindowListStore extends Pick<BudgetStore, 'look'> {
  /** Epoch milliseconds of the database. */
  now(): Promise<number>
  list(tenant: string, query: WindowQuery): Promise<ListedWindow[]>
}

export interface BudgetFilters {
  name: string | undefined
  scope: BudgetScope | undefined
  sessionId: string | undefined
  requestId: string | undefined
}

interface BudgetPage extends BudgetFilters {
  limit: number
  before: string | undefined
}

export type BudgetView = ReturnType<typeof toBudgetView>

/** A window as clients see it. */
export function toBudgetView({ account, state, owner, id }: ListedWindow) {
  const { budget: name, scope, window = null, subject, resetsAt, timezone, onExceeded } = account
  const { limit, spent, reserved, overrun, override } = state
  const { nanoUsd = 0, tokens = 0 } = leftIn(state)
  return {
    name,
    scope,
    window,
    subject: id ?? subject,
    ...(owner && nameOf(owner)),
    limit: toLimitView(limit),
    spent: toAmountView(spent, limit),
    reserved: toAmountView(reserved, limit),
    overrun: toAmountView(overrun, limit),
    remaining: toAmountView({ nanoUsd: Math.max(0, nanoUsd), tokens: Math.max(0, tokens) }, limit),
    ...(override && { override: { limit: toLimitView(override.limit), until: toIso(override.until), by: override.by } }),
    resets_at: resetsAt === undefined ? null : toIso(resetsAt),
    ...(resetsAt !== undefined && timezone !== undefined && { timezone }),
    on_exceeded: onExceeded,
  }
}

function nameOf(caller: Owner) {
  return { issuer: issuerOf(caller), sub: subOf(caller) }
}

function toIso(ms: number): string {
  return new Date(ms).toISOString()
}

type Reader = Pick<Principal, 'tenant' | 'owner' | 'roles' | 'permissions'>

export type ListBudgets = (reader: Reader, page: BudgetPage) => Promise<{ budgets: BudgetView[]; offset: string; has_more: boolean }>

interface ListOptions {
  store: WindowListStore
  /** The budgets of the current configuration. */
  budgets(): readonly Budget[]
  adminTenant: string
}

/**
 * Lists current windows: first those of the reader's own caller, tenant and service, entered or not, in the order of agent.yaml; then those of other
 * callers, sessions and runs, by name and subject.
 */
export function createListBudgets({ store, budgets, adminTenant }: ListOptions): ListBudgets {
  return async (reader, { limit, before, ...filters }) => {
    const position = toPosition(before)
    const all = budgets().filter((budget) => isFor(budget, { tenant: reader.tenant }))
    if (all.length === 0) return { budgets: [], offset: '', has_more: false }
    const now = await store.now()
    const own = ownAccounts(all, reader, adminTenant).map(([budget, subject]) => toAccount(budget, subject, now))
    const chosen = own.slice(startOf(own, position)).filter((account) => isChosen(filters, account))
    const first = await lookAll(store, reader, chosen.slice(0, limit + 1))
    const isAll = reader.permissions.has('observability.read')
    const others = all.filter(({ scope }) => scope === 'run' || scope === 'session' || (isAll && scope === 'caller'))
    const query = {
      accounts: others.map((budget) => toAccount(budget, '', now)).filter((account) => isChosen(filters, account)),
      owner: isAll ? undefined : reader.owner,
      requestId: filters.requestId,
      sessionId: filters.sessionId,
      except: own,
      after: position?.subject === undefined ? undefined : { budget: position.budget, subject: position.subject },
      limit: limit + 1 - first.length,
      now,
    }
    const isDone = query.limit === 0 || query.accounts.length === 0
    const windows = [...first, ...(isDone ? [] : await store.list(reader.tenant, query))]
    const page = windows.slice(0, limit)
    return { budgets: page.map(toBudgetView), offset: offsetOf(page.at(-1), first), has_more: windows.length > limit }
  }
}

/** The windows of the reader itself, with their subjects. */
function ownAccounts(budgets: readonly Budget[], { tenant, owner, roles, permissions }: Reader, adminTenant: string): [Budget, string][] {
  return budgets.flatMap((budget): [Budget, string][] => {
    if (budget.scope === 'caller') return isFor(budget, { tenant, roles }) ? [[budget, owner]] : []
    const { scope } = budget
    if ((scope !== 'tenant' && scope !== 'service') || !mayRead({ tenant, permissions }, scope, adminTenant)) return []
    return [[budget, scope === 'tenant' ? tenant : serviceSubject]]
  })
}

/** A request id selects windows of runs alone, and a session id windows of sessions alone. */
function isChosen({ name, scope, requestId, sessionId }: BudgetFilters, account: Account): boolean {
  const isNamed = (name === undefined || account.budget === name) && (scope === undefined || account.scope === scope)
  if (requestId === undefined && sessionId === undefined) return isNamed
  return isNamed && ((requestId !== undefined && account.scope === 'run') || (sessionId !== undefined && account.scope === 'session'))
}

async function lookAll(
  store: Pick<WindowListStore, 'look'>,
  { tenant, owner }: Owner,
  accounts: readonly Account[],
): Promise<ListedWindow[]> {
  const states = accounts.length === 0 ? [] : await store.look(tenant, accounts)
  return accounts.map((account, index) => ({
    account,
    state: states[index]!,
    owner: account.scope === 'caller' ? { tenant, owner } : undefined,
  }))
}

/** A place in the list: behind an own window of the budget, or behind the window of another subject. */
interface Position {
  budget: string
  subject: string | undefined
}

function toPosition(before: string | undefined): Position | undefined {
  if (before === undefined) return undefined
  const [budget, subject, ...rest] = parsePosition(before) ?? []
  if (typeof budget !== 'string' || (subject !== undefined && typeof subject !== 'string') || rest.length > 0)
    throw invalid(['query', 'before'], 'must be the offset of a page')
  return { budget, subject }
}

/** How many of the own windows the pages before had. */
function startOf(own: readonly Account[], position: Position | undefined): number {
  if (!position) return 0
  return position.subject === undefined ? own.findIndex(({ budget }) => budget === position.budget) + 1 : own.length
}

function offsetOf(last: ListedWindow | undefined, own: readonly ListedWindow[]): string {
  if (!last) return ''
  const { budget, subject } = last.account
  return toOffset(own.includes(last) ? [budget] : [budget, subject])
}
