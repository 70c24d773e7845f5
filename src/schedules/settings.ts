import { invalid } from '../errors.ts'
import { occurrencesAfter, parseSpec } from './calendar.ts'
import type { CatchUpPolicy, OverlapPolicy, ScheduleSession, ScheduleSettings, Spec, SpecText } from './schedule.ts'

/** The settings of a schedule as requests have them. */
export interface SettingsText extends SpecText {
  name?: string | null | undefined
  session?: 'new' | 'same' | { session_id: string } | null | undefined
  overlap?: OverlapPolicy | null | undefined
  catch_up?: { policy?: CatchUpPolicy | null | undefined; window?: number | null | undefined } | null | undefined
  jitter?: number | null | undefined
  max_fires?: number | null | undefined
  pause_after_failures?: number | null | undefined
}

interface SettingsRules {
  /** The name of a schedule without one. */
  defaultName: string
  /** The session of a schedule with `same`. */
  ownSessionId: string
}

/** Throws a `validation` error that names the field. */
export function toSettings(text: SettingsText, { defaultName, ownSessionId }: SettingsRules): ScheduleSettings {
  return {
    name: text.name ?? defaultName,
    spec: parseSpec(text),
    session: toSession(text.session ?? 'new', ownSessionId),
    overlap: text.overlap ?? 'skip',
    catchUp: { policy: text.catch_up?.policy ?? 'latest', windowMs: (text.catch_up?.window ?? 3600) * 1000 },
    jitterMs: (text.jitter ?? 0) * 1000,
    maxFires: text.max_fires ?? undefined,
    pauseAfterFailures: text.pause_after_failures ?? 5,
  }
}

function toSession(session: 'new' | 'same' | { session_id: string }, ownSessionId: string): ScheduleSession {
  if (session === 'new') return { kind: 'new' }
  return session === 'same' ? { kind: 'same', sessionId: ownSessionId } : { kind: 'named', sessionId: session.session_id }
}

/** The settings as they are sent and shown. */
export function toText(settings: ScheduleSettings) {
  const { spec, session, catchUp, maxFires } = settings
  return {
    name: settings.name,
    ...(spec.cron === undefined ? {} : { cron: spec.cron }),
    ...(spec.timezone === undefined ? {} : { timezone: spec.timezone }),
    ...toTimes({ at: spec.at, starts_at: spec.startsAt, ends_at: spec.endsAt }),
    session: session.kind === 'named' ? { session_id: session.sessionId } : session.kind,
    overlap: settings.overlap,
    catch_up: { policy: catchUp.policy, window: catchUp.windowMs / 1000 },
    jitter: settings.jitterMs / 1000,
    ...(maxFires === undefined ? {} : { max_fires: maxFires }),
    pause_after_failures: settings.pauseAfterFailures,
  }
}

function toTimes<Name extends string>(times: Record<Name, number | undefined>): Partial<Record<Name, string>> {
  const entries = Object.entries<number | undefined>(times).flatMap(([name, time]) => (time === undefined ? [] : [[name, isoOf(time)]]))
  return Object.fromEntries(entries) as Partial<Record<Name, string>>
}

export function isoOf(time: number): string {
  return new Date(time).toISOString().replace('.000Z', 'Z')
}

/** True where the times of the schedule are others: a change of its bounds moves the next time too. */
export function isOther(before: Spec, after: Spec): boolean {
  return (['cron', 'timezone', 'at', 'startsAt', 'endsAt'] as const).some((field) => before[field] !== after[field])
}

/** Number of compared times for `schedules.min_interval`. */
const compared = 50

export function refuseFrequent(spec: Spec, now: number, minIntervalMs: number): void {
  if (minIntervalMs <= 60_000) return
  const times = occurrencesAfter(spec, now, compared)
  if (times.some((time, index) => index > 0 && time - times[index - 1]! < minIntervalMs))
    throw invalid(['body', 'cron'], `must leave at least ${minIntervalMs / 1000} seconds between two times`)
}
