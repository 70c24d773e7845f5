import type { Owner } from '../access/owner.ts'
import type { Identity } from '../access/identity.ts'
import type { ChatRequest, RunStatus } from '../runs/run.ts'

/** When a schedule fires: again and again by `cron` in `timezone`, or once `at`. Times in epoch milliseconds. */
export interface Spec {
  /** Five fields, or a name such as `@daily`. */
  cron: string | undefined
  /** IANA name; present with `cron`. */
  timezone: string | undefined
  at: number | undefined
  /** No occurrence is before `startsAt` or after `endsAt`. */
  startsAt: number | undefined
  endsAt: number | undefined
}

/** The spec in a request. */
export interface SpecText {
  cron?: string | null | undefined
  timezone?: string | null | undefined
  at?: string | null | undefined
  starts_at?: string | null | undefined
  ends_at?: string | null | undefined
}

export type OccurrenceNote = 'moved_by_dst' | 'second_of_two_skipped'

/** A time of a schedule, in epoch milliseconds. */
export interface Occurrence {
  at: number
  note?: OccurrenceNote
}

export const overlapPolicies = ['skip', 'queue', 'cancel_running', 'allow'] as const
export type OverlapPolicy = (typeof overlapPolicies)[number]

export const catchUpPolicies = ['latest', 'skip', 'all'] as const
export type CatchUpPolicy = (typeof catchUpPolicies)[number]

/** The treatment of occurrences without a process at the time. */
export interface CatchUp {
  policy: CatchUpPolicy
  windowMs: number
}

/** The most fires that `catch_up: all` makes up for. */
export const maxCaughtUp = 10

/** Delays each occurrence by up to `ms`, always the same for the same schedule and occurrence, and never to the next occurrence. */
export interface Jitter {
  /** The id of the schedule. */
  id: string
  ms: number
}

/** An evaluated occurrence without a fire. */
export interface Missed {
  scheduledFor: number
  /** Number of occurrences that the row stands for, up to `scheduledFor`; absent: one. */
  count?: number
}

/** The result of a look at a schedule: due occurrences behind the watermark, with jitter. */
export interface Judgement {
  /** To fire, oldest first. */
  fires: number[]
  missed: Missed[]
  /** The first occurrence that is still to come; undefined where the schedule has ended. */
  next: { at: number; dueAt: number } | undefined
}

export const scheduleStatuses = ['active', 'paused', 'ended'] as const
export type ScheduleStatus = (typeof scheduleStatuses)[number]

export const fireOutcomes = ['started', 'skipped', 'missed', 'refused'] as const
export type FireOutcome = (typeof fireOutcomes)[number]

/** Where the runs of a schedule go: each into a new session, all into one that the schedule has alone, or into a session of the owner. */
export type ScheduleSession = { kind: 'new' } | { kind: 'same' | 'named'; sessionId: string }

/** The decisions of the owner about a schedule. */
export interface ScheduleSettings {
  name: string
  spec: Spec
  session: ScheduleSession
  overlap: OverlapPolicy
  catchUp: CatchUp
  /** Milliseconds. */
  jitterMs: number
  /** Started fires after which the schedule ends; triggers do not count. */
  maxFires: number | undefined
  /** Failed runs in a row that pause the schedule; 0: never. */
  pauseAfterFailures: number
}

/** The question of each firing, and the address of the answer. */
export interface ScheduledRequest {
  /** The checked request of a run, without headers of the caller. */
  chat: ChatRequest
  bodyHash: string
  /** The request as shown to the owner: images without bytes. */
  body: object
  callbackUrl: string | undefined
  reportsInterruptions: boolean
}

/** Bytes of an image or a file of the request, as base64. */
export interface ScheduleMedia {
  mediaType: string
  data: string
}

/** Copied bytes: images of the question, and files that the model reads itself. */
export interface ScheduleAttachments {
  images: readonly ScheduleMedia[]
  files: readonly ScheduleMedia[]
}

export interface ScheduleKey extends Owner {
  id: string
}

/** A stored schedule. Times in epoch milliseconds. */
export interface Schedule extends ScheduleKey, ScheduleSettings {
  request: ScheduledRequest
  /** The last caller to create, change or resume the schedule. Runs have the permissions of this caller at the firing. */
  identity: Identity
  /** When a caller of an identity provider was last seen. */
  seenAt: number
  status: ScheduleStatus
  pauseReason: string | undefined
  /** The next occurrence; undefined where none follows. */
  nextAt: number | undefined
  /** When the engine looks at the schedule: `nextAt` with its jitter, or sooner where an occurrence waits for a run. */
  dueAt: number | undefined
  /** Occurrences up to this time have been evaluated. */
  watermark: number
  /** The waiting occurrence: due at the end of the running fire. */
  queuedFor: number | undefined
  /** Started fires, without triggers. */
  fires: number
  /** The last fire with a run. */
  last: { scheduledFor: number; requestId: string } | undefined
  /** Failures of runs that were fired earlier do not count. */
  countsFrom: number
  /** Changes with each change by a caller, for `etag`. */
  version: string
  /** Grows with every write. */
  revision: number
  createdAt: number
  updatedAt: number
}

/** A schedule with the status of the run of its last fire; undefined for none, and where the run was removed. */
export type ReadSchedule = Schedule & { lastStatus: RunStatus | undefined }

/** The row of an occurrence, or of a trigger. */
export interface Fire {
  scheduledFor: number
  firedAt: number
  outcome: FireOutcome
  /** Why no run was started; undefined for a started one. */
  reason: string | undefined
  /** Number of occurrences that a `missed` row stands for. */
  count: number
  requestId: string | undefined
}

/** A fire with the state of its run; undefined where the run is gone. */
export interface ListedFire extends Fire {
  status: RunStatus | undefined
}

/** The request id of the run of a fire. */
export function fireRequestId(id: string, scheduledFor: number): string {
  return `schedule:${id}:${scheduledFor}`
}

/** Statuses of a run that has not ended. A run that waits for a decision has not. */
export const busyStatuses: readonly RunStatus[] = ['pending', 'running', 'interrupted']

export function scheduleIsBusy(lastStatus: RunStatus | undefined): boolean {
  return lastStatus !== undefined && busyStatuses.includes(lastStatus)
}
