import { isKeyName } from '../access/keys/keys.ts'
import type { Principal } from '../access/permissions.ts'
import type { Acting } from '../audit/acts.ts'
import type { Budget, BudgetScope } from '../configuration/budget-schema.ts'
import { invalid, ServiceError } from '../errors.ts'
import { isFor, toAccount, toLimit } from './accounts.ts'
import { serviceSubject } from './budget.ts'
import type { ActedOverride, OverrideRules, OverrideStore } from './overrides.ts'
import { type BudgetView, type ListedWindow, toBudgetView } from './windows-list.ts'

/** The window that a request names. `subject`: as `GET /core/v1/budgets` shows the subject, with or without the owner behind. */
interface Target {
  name: string
  subject: string | undefined
  /** Where the request has the subject, for faults. */
  at: 'body' | 'query'
}

interface RequestedOverride extends Target {
  limit: { usd?: number; tokens?: number }
  /** Epoch milliseconds. */
  until: number
}

export interface NamedSubject {
  /** `Account.subject`. */
  subject: string
  owner: string
}

/** Port: the runs or sessions of a tenant with this id, of all callers. */
export interface SubjectStore {
  findSubjects(tenant: string, scope: 'run' | 'session', id: string): Promise<NamedSubject[]>
}

type Caller = Pick<Principal, 'tenant' | 'owner' | 'sub' | 'roles'> & Acting

/** Changes limits of current windows, for callers with `budgets.write`. Throws `not_found`, `forbidden`, `above_tenant_budget` and validation errors. */
export interface Overrides {
  set(caller: Caller, override: RequestedOverride): Promise<BudgetView>
  clear(caller: Caller, target: Target): Promise<BudgetView>
}

interface OverridesOptions {
  store: OverrideStore & SubjectStore
  rules: OverrideRules
  /** The budgets of the current configuration. */
  budgets(): readonly Budget[]
}

/** A window, and the tenant that pays into it. */
interface FoundWindow extends Omit<ListedWindow, 'state'> {
  tenant: string
}

export function createOverrides({ store, rules, budgets }: OverridesOptions): Overrides {
  async function find(caller: Caller, { name, subject, at }: Target): Promise<FoundWindow> {
    const budget = budgets().find((candidate) => candidate.name === name)
    if (!budget) throw new ServiceError('not_found', `There is no budget ${name}.`)
    rules.assertMayChange(caller, budget.scope)
    const payer = await findPayer(caller, budget.scope, { subject, at })
    if (!isFor(budget, payer)) throw new ServiceError('not_found', `Budget ${name} does not count calls of the tenant ${payer.tenant}.`)
    const { tenant, owner, id } = payer
    return { tenant, owner, id, account: toAccount(budget, payer.subject, await store.now()) }
  }

  async function findPayer(caller: Caller, scope: BudgetScope, { subject, at }: Omit<Target, 'name'>): Promise<Payer> {
    const { tenant } = caller
    const loc = [at, 'subject']
    if (scope === 'service') {
      if (subject !== undefined && subject !== serviceSubject) throw invalid(loc, `must be ${serviceSubject} for a budget of the service`)
      return { tenant, subject: serviceSubject }
    }
    if (scope === 'tenant') {
      if (subject !== undefined && !isKeyName(subject)) throw invalid(loc, 'must be the name of a tenant')
      return { tenant: subject ?? tenant, subject: subject ?? tenant }
    }
    if (scope === 'caller') {
      const owner = subject ?? caller.owner
      if (!isOwner(owner)) throw invalid(loc, 'must be a caller: `<issuer> <sub>`')
      return { tenant, subject: owner, owner: { tenant, owner } }
    }
    if (subject === undefined) throw invalid(loc, `is required: the id of the ${scope}`)
    return { tenant, ...(await findNamed(caller, scope, subject)) }
  }

  /** An own run or session first, otherwise the only match of the tenant. */
  async function findNamed({ tenant, owner }: Caller, scope: 'run' | 'session', text: string) {
    const blank = text.indexOf(' ')
    const id = blank === -1 ? text : text.slice(0, blank)
    const all = await store.findSubjects(tenant, scope, id)
    const named = blank === -1 ? all : all.filter((match) => match.owner === text.slice(blank + 1))
    const match = named.find((candidate) => candidate.owner === owner) ?? named[0]
    if (!match) throw new ServiceError('not_found', `There is no ${scope} ${text}.`)
    if (match.owner !== owner && named.length > 1)
      throw new ServiceError('ambiguous_run', `Several callers have a ${scope} ${id}: name its caller too, as "${id} <issuer> <sub>".`)
    return { subject: match.subject, owner: { tenant, owner: match.owner }, id }
  }

  return {
    async set(caller, { limit, until, ...target }) {
      const window = await find(caller, target)
      const change = await rules.replace(caller, window.account, { limit: toLimit(limit), until })
      return toBudgetView({ ...window, state: await store.override(window.tenant, window.account, change, actedOf(caller, window)) })
    },
    async clear(caller, target) {
      const window = await find(caller, target)
      return toBudgetView({
        ...window,
        state: await store.override(window.tenant, window.account, () => undefined, actedOf(caller, window)),
      })
    },
  }
}

function actedOf(acting: Acting, { id, account }: FoundWindow): ActedOverride {
  return { acting, subject: id ?? account.subject }
}

/** Who has the window. */
interface Payer extends Pick<FoundWindow, 'tenant' | 'owner' | 'id'> {
  subject: string
}

function isOwner(text: string): boolean {
  const [, issuer = '', sub] = /^([^ ]+) (.+)$/s.exec(text) ?? []
  return issuer.length <= 1024 && isKeyName(sub)
}
