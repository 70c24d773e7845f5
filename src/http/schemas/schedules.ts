import { Type } from 'typebox'
import { catchUpPolicies, fireOutcomes, overlapPolicies, scheduleStatuses } from '../../schedules/schedule.ts'
import { ChatBody, AsyncBody } from './chat.ts'
import { closed, Id, maybe, namedObject, object, orNull, pageFields } from './shared.ts'

/** Schemas of schedules. */

const dateTime = (description: string) => Type.String({ format: 'date-time', description })

/** A time in a request: text that `parseSpec` reads. */
const time = (description: string) => maybe(Type.String({ minLength: 1, maxLength: 40 }), `${description} An ISO 8601 time with its zone.`)

const { messages, data_filter_hints, auto_memory_retain, context_files, images, response_schema, reasoning_effort } = ChatBody.properties
const { callback_url, callback_events } = AsyncBody.properties.data.properties

/** A chat without a waiting client, and so without client tools. */
export const ScheduledChat = closed({
  messages,
  data_filter_hints,
  auto_memory_retain,
  context_files,
  images,
  response_schema,
  reasoning_effort,
  callback_url,
  callback_events,
})

export type ScheduledChat = Type.Static<typeof ScheduledChat>

const Cron = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'Five fields (minute, hour, day of the month, month, day of the week), or a name such as `@daily`.',
})

const Timezone = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'The IANA time zone in which `cron` is read, such as `Europe/Berlin`. Required with `cron`.',
})

const sessionText =
  '`new`: each run has a session of its own. `same`: all runs have one session, which is theirs alone. `{session_id}`: a session of the caller.'

const CatchUp = {
  policy: Type.Enum([...catchUpPolicies], {
    description: 'What is made up for: the `latest` occurrence, none (`skip`), or at most 10 (`all`).',
  }),
  window: Type.Integer({ minimum: 60, maximum: 604_800, description: 'Seconds after which an occurrence is not made up for.' }),
}

const settings = {
  name: maybe(Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\u0000]*$' }), 'Default: the beginning of the question.'),
  cron: maybe(Cron),
  timezone: maybe(Timezone),
  at: time('The one time of a schedule without `cron`, in the future.'),
  session: maybe(Type.Union([Type.Enum(['new', 'same']), closed({ session_id: Id })]), `${sessionText} Default: \`new\`.`),
  overlap: maybe(
    Type.Enum([...overlapPolicies]),
    'What happens while the run before has not ended: the time is left out (`skip`), one waits (`queue`), the run before is cancelled (`cancel_running`), or both run (`allow`). Default: `skip`.',
  ),
  catch_up: maybe(
    closed({ policy: maybe(CatchUp.policy), window: maybe(CatchUp.window) }),
    'What happens to times when no process could fire. Default: `latest` within 3600 seconds.',
  ),
  jitter: maybe(Type.Integer({ minimum: 0, maximum: 3600 }), 'Seconds by which each time is delayed at most. Default: 0.'),
  starts_at: time('No time before this one.'),
  ends_at: time('No time after this one.'),
  max_fires: maybe(Type.Integer({ minimum: 1, maximum: 1_000_000 }), 'Runs after which the schedule ends; triggers do not count.'),
  pause_after_failures: maybe(
    Type.Integer({ minimum: 0, maximum: 100 }),
    'Failed runs in a row that pause the schedule; 0: never. Default: 5.',
  ),
}

export const ScheduleBody = closed({ ...settings, request: ScheduledChat })

export type ScheduleBody = Type.Static<typeof ScheduleBody>

/** A merge patch: absent fields stay, `null` restores the default. */
export const SchedulePatch = closed({ ...settings, request: Type.Optional(Type.Partial(ScheduledChat, { additionalProperties: false })) })

export type SchedulePatch = Type.Static<typeof SchedulePatch>

export const Schedule = namedObject('Schedule', 'A question that is asked again and again, or once at a time.', {
  id: Type.String(),
  name: Type.String(),
  issuer: Type.String({ description: 'The issuer of the owner.' }),
  sub: Type.String({ description: 'The owner: runs have what the owner may do when they start.' }),
  cron: Type.Optional(Cron),
  timezone: Type.Optional(Timezone),
  at: Type.Optional(dateTime('The one time of a schedule without `cron`.')),
  request: Type.Record(Type.String(), Type.Unknown(), {
    description:
      'The chat, and `callback_url`. The bytes of images are left out. For an administrator who is not the owner, the object is empty.',
  }),
  session: Type.Union([Type.Enum(['new', 'same']), Type.Object({ session_id: Type.String() })], { description: sessionText }),
  overlap: Type.Enum([...overlapPolicies]),
  catch_up: Type.Object(CatchUp),
  jitter: Type.Integer(),
  starts_at: Type.Optional(dateTime('No time before this one.')),
  ends_at: Type.Optional(dateTime('No time after this one.')),
  max_fires: Type.Optional(Type.Integer()),
  pause_after_failures: Type.Integer(),
  status: Type.Enum([...scheduleStatuses]),
  pause_reason: Type.Optional(
    Type.String({ description: '`key_revoked`, `owner_away`, `failures`, or the reason that a caller has given.' }),
  ),
  next_at: orNull(dateTime('The next time, without jitter.'), 'Null where no time follows.'),
  last: Type.Optional(
    object('The last fire that has started a run.', {
      scheduled_for: dateTime('The time for which the run was started.'),
      request_id: Type.String(),
      status: orNull(Type.String(), 'The status of the run; null where the run was removed.'),
    }),
  ),
  created_at: dateTime('When the schedule was created.'),
  updated_at: dateTime('When a caller, or the service, has changed the schedule last.'),
})

export const SchedulePage = namedObject('SchedulePage', {
  schedules: Type.Array(Schedule),
  enabled: Type.Boolean({ description: '`schedules.enabled` of agent.yaml: false where no schedule fires, and none may be created.' }),
  ...pageFields,
})

export const PreviewBody = closed({
  cron: Cron,
  timezone: Timezone,
  from: time('The times after this one. Default: now.'),
  count: maybe(Type.Integer({ minimum: 1, maximum: 50 }), 'Default: 5.'),
})

export const Preview = namedObject('SchedulePreview', {
  occurrences: Type.Array(
    Type.Object({
      at: dateTime('The time in UTC.'),
      local: Type.String({ description: 'The time in the zone, with its distance from UTC.' }),
      note: Type.Optional(
        Type.Enum(['moved_by_dst', 'second_of_two_skipped'], {
          description:
            '`moved_by_dst`: the time does not exist on that day, and is moved to the first one that does. `second_of_two_skipped`: the time exists twice on that day, and fires the first time.',
        }),
      ),
    }),
  ),
})

export const PauseBody = closed({ reason: maybe(Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\u0000]*$' })) })

export const Triggered = namedObject('TriggeredSchedule', {
  outcome: Type.Enum(['started', 'queued', 'skipped', 'refused']),
  reason: Type.Optional(Type.String({ description: 'Why no run was started, such as `overlap`.' })),
  request_id: Type.Optional(Type.String({ description: 'The run, for `GET /core/v1/runs/{request_id}`.' })),
})

export const FirePage = namedObject('FirePage', {
  fires: Type.Array(
    Type.Object({
      scheduled_for: dateTime('The time of the schedule, or that of the trigger.'),
      fired_at: dateTime('When the time was evaluated.'),
      outcome: Type.Enum([...fireOutcomes], {
        description:
          '`started`: a run was started. `skipped`: by `overlap`. `missed`: no process could fire in time, and `catch_up` did not make up for it. `refused`: the owner may not, or a limit is reached.',
      }),
      reason: Type.Optional(Type.String({ description: 'Why no run was started: `overlap`, or the type of an error.' })),
      count: Type.Optional(Type.Integer({ description: 'The number of missed times up to this one, where one row stands for several.' })),
      request_id: Type.Optional(Type.String()),
      status: Type.Optional(Type.String({ description: 'The status of the run. Absent without a run, and where the run was removed.' })),
    }),
  ),
  ...pageFields,
})
