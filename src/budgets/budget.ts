import type { Budget, BudgetScope, BudgetWindow } from '../configuration/budget-schema.ts'

/** What something costs or may cost: USD in units of 10^-9, which is exact in sums, and tokens. */
export interface Amount {
  nanoUsd: number
  tokens: number
}

/** A limit; an absent part has no limit. */
export type Limit = Partial<Amount>

/** Who causes a model call, and so pays for the call. `session` is the key of the session; absent fields are unknown or do not exist. */
export interface Payer {
  tenant: string
  owner?: string
  requestId?: string
  session?: string
  roles?: readonly string[] | undefined
  operation: string
}

/** One window of a budget that pays for a call. */
export interface Account {
  budget: string
  scope: BudgetScope
  /** Undefined for a run and a session. */
  window: BudgetWindow | undefined
  /** The name of what has the limit: request id with owner, key of the session, owner, tenant, or `*`. */
  subject: string
  /** Epoch milliseconds; 0 for a run and a session, whose window is their life. */
  windowStart: number
  /** Undefined where the window never ends. */
  resetsAt: number | undefined
  /** The zone in which windows begin, for people. */
  timezone?: string
  limit: Limit
  /** The share of the limit at which a warning is due. */
  warnAt: number | undefined
  onExceeded: Budget['on_exceeded']
}

/** What names a window in the store. */
export type AccountKey = Pick<Account, 'budget' | 'scope' | 'subject' | 'windowStart'>

/** The state of a window. */
export interface AccountState {
  key: AccountKey
  spent: Amount
  reserved: Amount
  /** What providers counted beyond the reservations. */
  overrun: Amount
  /** The part of `spent` that was settled without the provider's count, after the death of a process. */
  estimated: Amount
  /** The limit in force: that of agent.yaml, or an override until its time. */
  limit: Limit
  override: Override | undefined
  isWarned: boolean
}

export interface Override {
  limit: Limit
  /** Epoch milliseconds. */
  until: number
  /** The `sub` of the caller who has set the override. */
  by: string
}

/** The most that an attempt of a model call may cost, held on all accounts that pay. */
export interface Reservation {
  /** Unique; a UUIDv7. */
  id: string
  tenant: string
  owner: string
  /** The run, empty for a call outside of runs. */
  requestId: string
  /** The fence of the run; 0 outside of runs. */
  fence: number
  /** The id of the process. */
  holder: string
  accounts: readonly Account[]
  amount: Amount
  /** Epoch milliseconds of the database. */
  createdAt: number
}

/** A reservation that the begin of a run has made for the first model call of the run, and the windows with the reservation. */
export interface HeldAhead {
  reservation: Reservation
  states: readonly AccountState[]
}

/** Replaces a reservation by what the attempt did cost. */
export interface Settlement {
  /** The id of the reservation. */
  id: string
  cost: Amount
  /** The reservation, if the process has it: the store then need not read the row before the removal. */
  held?: Pick<Reservation, 'accounts' | 'amount'>
}

export type Reserved =
  | { isHeld: true; states: AccountState[] }
  /** At least one account could not pay; nothing is held. */
  | { isHeld: false; states: AccountState[] }
  /** The windows of the accounts are not those of the database's clock, which shows `now`; nothing is held. */
  | { isHeld: false; now: number }

/** Port: the windows of budgets, and what is reserved in the windows. Each function is one transaction. */
export interface BudgetStore {
  /** Holds the amount on all accounts, or on none. Rejects when the database does not answer: then nothing may be spent. */
  reserve(reservation: Reservation): Promise<Reserved>
  /** Settles reservations that no commit of a run settles. A reservation that is unknown, or was settled before, changes nothing. */
  settle(tenant: string, settlements: readonly Settlement[]): Promise<void>
  /** The states of windows, in the order of the accounts; a window that nobody has entered is empty. */
  look(tenant: string, accounts: readonly Account[]): Promise<AccountState[]>
  /** Settles, at their full amounts, the reservations of lost processes that no run will settle. Resolves to the number of reservations. */
  settleLost(): Promise<number>
  /** Removes the windows of a run that is not stored, by the subject of the run. */
  forget(tenant: string, subject: string): Promise<void>
  /** Marks the window as warned, with the job of the warning where a receiver is set. False for a window with an earlier mark. */
  warn(tenant: string, warning: Warning): Promise<boolean>
}

/** A window has used up the share of its limit at which a warning is due. */
export interface Warning {
  account: Account
  state: AccountState
  /** Epoch milliseconds of the database. */
  at: number
}

/** The name of the service as a subject; as a tenant of rows it is `serviceTenant`. */
export const serviceSubject = '*'

/** The tenant of the windows of the whole service, and of the service as a payer. No tenant has this name, because names contain no control characters. */
export const serviceTenant = '\u0001'
