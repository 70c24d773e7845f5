import { noRepetition, toCron, toRepetition, type Repetition } from './pattern.ts'
import type { NewSchedule, Schedule, SchedulePatch } from './queries.ts'

/** The fields of the form, with typed texts unchanged. */
export interface Draft extends Repetition {
  question: string
  name: string
  timezone: string
  /** `2027-01-31T09:00` on the clocks of the browser. */
  once: string
  session: 'new' | 'same' | 'other'
  overlap: NonNullable<NewSchedule['overlap']>
  catchUp: Schedule['catch_up']['policy']
  catchUpWindow: number
  /** First and last time, as `once`; empty without a bound. */
  startsAt: string
  endsAt: string
  /** Empty without a limit. */
  maxFires: number | ''
  callbackUrl: string
  jitter: number
  pauseAfterFailures: number
}

export const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone

export const newDraft: Draft = {
  ...noRepetition,
  question: '',
  name: '',
  timezone: browserZone,
  once: '',
  session: 'new',
  overlap: 'skip',
  catchUp: 'latest',
  catchUpWindow: 3600,
  startsAt: '',
  endsAt: '',
  maxFires: '',
  callbackUrl: '',
  jitter: 0,
  pauseAfterFailures: 5,
}

interface Message {
  role: 'user' | 'assistant' | 'system'
  content: string
}

const messagesOf = ({ request }: Schedule) => (request['messages'] ?? []) as Message[]

/** The question of a schedule: the last message. */
export function questionOf(schedule: Schedule): string {
  return messagesOf(schedule).at(-1)?.content ?? ''
}

export function toDraft(schedule: Schedule): Draft {
  const { name, cron, timezone, session, overlap, catch_up: catchUp, jitter, pause_after_failures: pauseAfterFailures } = schedule
  const callbackUrl = schedule.request['callback_url']
  return {
    ...(cron === undefined ? { ...noRepetition, kind: 'once' as const } : toRepetition(cron)),
    question: questionOf(schedule),
    name,
    timezone: timezone ?? browserZone,
    once: toLocal(schedule.at),
    session: typeof session === 'string' ? session : 'other',
    overlap,
    catchUp: catchUp.policy,
    catchUpWindow: catchUp.window,
    startsAt: toLocal(schedule.starts_at),
    endsAt: toLocal(schedule.ends_at),
    maxFires: schedule.max_fires ?? '',
    callbackUrl: typeof callbackUrl === 'string' ? callbackUrl : '',
    jitter,
    pauseAfterFailures,
  }
}

function toLocal(at: string | undefined): string {
  if (at === undefined) return ''
  const time = new Date(at)
  const two = (part: number) => String(part).padStart(2, '0')
  const date = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join('-')
  return `${date}T${two(time.getHours())}:${two(time.getMinutes())}`
}

/** True when the form may be sent. */
export function isComplete(draft: Draft): boolean {
  const hasTimes = draft.kind === 'once' ? !Number.isNaN(Date.parse(draft.once)) : toCron(draft) !== undefined
  return hasTimes && draft.question.trim() !== ''
}

/** The times of a draft for requests. */
function timesOf(draft: Draft): Pick<NewSchedule, 'cron' | 'timezone' | 'at'> {
  return draft.kind === 'once' ? { at: new Date(draft.once).toISOString() } : { cron: toCron(draft), timezone: draft.timezone }
}

function settingsOf(draft: Draft) {
  const { name, session, overlap, catchUp, catchUpWindow, jitter, pauseAfterFailures } = draft
  const sessionField = session === 'other' ? {} : { session }
  return {
    ...boundsOf(draft),
    name: name.trim() || null,
    ...sessionField,
    overlap,
    catch_up: { policy: catchUp, window: catchUpWindow },
    jitter,
    pause_after_failures: pauseAfterFailures,
  }
}

/** A single time has no bounds. */
function boundsOf({ kind, startsAt, endsAt, maxFires }: Draft) {
  if (kind === 'once') return { starts_at: null, ends_at: null, max_fires: null }
  return { starts_at: toTime(startsAt), ends_at: toTime(endsAt), max_fires: maxFires === '' ? null : maxFires }
}

function toTime(local: string): string | null {
  return local === '' ? null : new Date(local).toISOString()
}

function requestOf({ question, callbackUrl }: Draft, earlier: readonly Message[] = []) {
  return { messages: [...earlier, { role: 'user' as const, content: question }], callback_url: callbackUrl.trim() || null }
}

export function toNewSchedule(draft: Draft): NewSchedule {
  return { ...timesOf(draft), ...settingsOf(draft), request: requestOf(draft) }
}

/** The changed fields. Fields outside of the form stay. */
export function toPatch(schedule: Schedule, draft: Draft): SchedulePatch {
  const before = toDraft(schedule)
  const earlier = messagesOf(schedule).slice(0, -1)
  const noTimes = { cron: null, timezone: null, at: null }
  const times = changesOf(timesOf(before), timesOf(draft))
  const request = changesOf(requestOf(before, earlier), requestOf(draft, earlier))
  return {
    ...(times && { ...noTimes, ...timesOf(draft) }),
    ...changesOf(settingsOf(before), settingsOf(draft)),
    ...(request && { request }),
  }
}

/** The changed fields of `after`; undefined without a change. */
function changesOf<Fields extends object>(before: Fields, after: Fields): Partial<Fields> | undefined {
  const old = new Map(Object.entries(before))
  const changed = Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(old.get(name)))
  return changed.length === 0 ? undefined : (Object.fromEntries(changed) as Partial<Fields>)
}
