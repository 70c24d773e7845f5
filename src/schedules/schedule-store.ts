import type { Owner } from '../access/owner.ts'
import type { Identity } from '../access/identity.ts'
import type { Acting } from '../audit/acts.ts'
import type { NewRun } from '../runs/run-store.ts'
import type { RunStatus } from '../runs/run.ts'
import type { Fire, ListedFire, ReadSchedule, Schedule, ScheduleAttachments, ScheduleKey } from './schedule.ts'

/** A new schedule, and the creating request. */
export interface NewSchedule {
  schedule: Schedule
  media: ScheduleAttachments
  requestId: string
  bodyHash: string
}

/** The most unended schedules. */
export interface ScheduleLimits {
  perCaller: number
  perTenant: number
}

/** Changed fields of a schedule. */
export type ScheduleChanges = Partial<Omit<Schedule, keyof ScheduleKey | 'revision' | 'createdAt'>>

export interface ScheduleChange {
  changes: ScheduleChanges
  /** Absent: the copied bytes stay. */
  media?: ScheduleAttachments | undefined
  /** Occurrences dropped by the change. */
  fires?: readonly Fire[]
}

export interface SchedulePage {
  /** Undefined: the schedules of all owners in the tenant. */
  owner: string | undefined
  limit: number
  /** The id of the last schedule of the page before. */
  before: string | undefined
}

export interface FiresPage {
  limit: number
  /** `scheduledFor` of the last fire of the page before. */
  before: number | undefined
}

/** Facts read in the transaction of a firing. */
export interface FireState {
  /** Epoch milliseconds of the database. */
  now: number
  /** The status of the last fire's run. */
  lastStatus: RunStatus | undefined
  /** Failed runs in a row, up to the last ended one. */
  failures: number
  /** True where the access key of the identity is revoked. */
  isKeyRevoked: boolean
}

/** The rows of a firing. */
export interface Firing {
  fires: readonly Fire[]
  changes: ScheduleChanges
  /** The run of the last of the fires. */
  run?: NewRun | undefined
  /** True where nothing is stored if the last of the fires has its row already. */
  mustBeNew?: boolean
}

export interface DueSchedules {
  /** Epoch milliseconds of the database. */
  now: number
  /** In order of due times. */
  schedules: ReadSchedule[]
  /** When the next schedule is due; undefined where none is active. */
  nextDueAt: number | undefined
  /** True where an occurrence waits for a run, whose end wakes nobody. */
  hasWaiting: boolean
}

/** Port: schedules and fires. The clock is the clock of the database. */
export interface ScheduleStore {
  now(): Promise<number>
  /** The schedule that a request of the owner has created. */
  findCreated(owner: Owner, requestId: string): Promise<{ schedule: ReadSchedule; bodyHash: string } | undefined>
  /** `known`: the request has created a schedule already. `caller`, `tenant`: the limit that is reached. */
  insert(schedule: NewSchedule, limits: ScheduleLimits, acting?: Acting): Promise<'added' | 'known' | 'caller' | 'tenant'>
  find(tenant: string, id: string): Promise<ReadSchedule | undefined>
  /** Newest first. */
  list(tenant: string, page: SchedulePage): Promise<ReadSchedule[]>
  media(key: ScheduleKey): Promise<ScheduleAttachments>
  /** Changes a locked schedule. `change` may throw; then nothing changes. `acting`: who changes the schedule. */
  change(key: ScheduleKey, change: (schedule: ReadSchedule, now: number) => ScheduleChange, acting?: Acting): Promise<ReadSchedule>
  /** The fires of a schedule, the newest time first. */
  fires(key: ScheduleKey, page: FiresPage): Promise<ListedFire[]>
  due(limit: number): Promise<DueSchedules>
  /**
   * Stores fires, the run of the last fire with its job, and the changes of the schedule, all or nothing. Undefined, and nothing is stored,
   * where the schedule has changed since it was read, another process fires it now, or `decide` returns undefined.
   */
  fire(schedule: Schedule, decide: (state: FireState) => Firing | undefined): Promise<Firing | undefined>
  /**
   * The schedule is due again after `waitMs`, so that the rest of the due schedules comes first. A schedule that has changed since the
   * read stays unchanged.
   */
  postpone(schedule: Schedule, waitMs: number): Promise<void>
  /** Callers of identity providers with active schedules. */
  providerOwners(): Promise<Owner[]>
  /** Stores the roles of a caller of an identity provider who was seen now. */
  renew(identity: Identity): Promise<void>
}
