import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { issuerOf, subOf } from '../../../access/owner.ts'
import { accessTo, requireAccess, type Principal } from '../../../access/permissions.ts'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import { mergePatch } from '../../../configuration/change/merge.ts'
import { invalid } from '../../../errors.ts'
import { parseTime, timeFault } from '../../../json/time.ts'
import { parseSpec } from '../../../schedules/calendar.ts'
import { previewOf } from '../../../schedules/preview.ts'
import type { Fire, ListedFire, ReadSchedule } from '../../../schedules/schedule.ts'
import type { Schedules, ScheduledChatText, SchedulePatchRequest } from '../../../schedules/schedules.ts'
import { isoOf, toText } from '../../../schedules/settings.ts'
import {
  FirePage,
  PauseBody,
  Preview,
  PreviewBody,
  Schedule,
  ScheduleBody,
  SchedulePage,
  SchedulePatch,
  Triggered,
} from '../../schemas/schedules.ts'
import { etag, Id, Offset, optionalText, pageLimit, replies, route } from '../../schemas/shared.ts'
import type { App } from '../../server/app.ts'
import { principalOf } from '../../server/authenticate.ts'
import { toExpectation } from '../../server/request-headers.ts'
import { hashOf, toNewChat } from './open-chat.ts'

interface ScheduleServices {
  schedules: Schedules
  agent: CurrentAgent
}

/** Routes of schedules: chats that begin at their times. */
export const scheduleRoutes = [
  listRoute,
  createRoute,
  previewRoute,
  readRoute,
  changeRoute,
  endRoute,
  pauseRoute,
  resumeRoute,
  triggerRoute,
  firesRoute,
] as const

const path = '/core/v1/schedules'

const tag = 'Schedules'

const params = Type.Object({ id: Id })

const PageQuery = Type.Object({ limit: pageLimit, before: Offset })

const whereId = 'Take an `id` from `GET /core/v1/schedules`. A schedule of another caller is 404.'

const reply = { ...Schedule, headers: etag }

const question = { messages: [{ role: 'user', content: 'What were the total sales by region?' }] }

function listRoute(app: App, { schedules, agent }: ScheduleServices): void {
  app.get(
    path,
    route('schedules.read', tag, {
      summary: 'List schedules, newest first',
      description: "A caller's own schedules; for administrators those of the tenant.",
      text: 'Use it to see what is asked when, and how the last run ended. Ended schedules are listed for 90 days.',
      querystring: PageQuery,
      response: replies({ 200: SchedulePage }, 422),
    }),
    async (request) => {
      const caller = principalOf(request)
      const { rows, offset, hasMore } = await schedules.list(caller, request.query as PageOf)
      return { schedules: rows.map((row) => toView(row, caller)), enabled: agent().config.schedules.enabled, offset, has_more: hasMore }
    },
  )
}

type PageOf = { limit: number; before: string | undefined }

function createRoute(app: App, { schedules, agent }: ScheduleServices): void {
  app.post(
    path,
    route('schedules.write', tag, {
      summary: 'Create a schedule: a question that is asked again and again, or once at a time',
      text: `Each time starts an asynchronous run of the caller, with what the caller may do then, and with the budgets and rate limits of the caller. Its answer is a run (\`GET /core/v1/runs?operation=schedule\`), and is sent to \`request.callback_url\`. The key needs the permission \`chat\` too. A repeat with the same \`request-id\` creates no other schedule.

- 400 \`InvalidInput\`: an image or a file cannot be used. Their bytes are copied now; paths under \`FILES_ROOT\` are read by each run.
- 409 \`ScheduleLimit\`: the caller has \`schedules.max_per_caller\` (20) schedules, or the tenant \`schedules.max_per_tenant\` (200).
- 422: \`timezone\` is missing, no time follows, or \`request\` has a field that needs a client that waits.`,
      examples: {
        weekly: {
          summary: 'Every Monday at 9 in Berlin',
          value: { name: 'Weekly sales', cron: '0 9 * * 1', timezone: 'Europe/Berlin', request: question },
        },
      },
      body: ScheduleBody,
      response: replies({ 201: reply }, 400, 409, 422),
    }),
    async (request, answer) => {
      const caller = principalOf(request)
      requireAccess(caller, accessTo.chat)
      const { request: chat, ...settings } = request.body
      const bodyHash = hashOf({ ...request.body }, ['body'])
      const created = await schedules.create(caller, {
        requestId: request.id,
        settings,
        request: chat,
        bodyHash,
        toChat: toChatOf(agent, request),
      })
      return sendSchedule(answer.code(201), created)
    },
  )
}

/** The chat of a schedule has no session, headers and trace of the request. */
function toChatOf(agent: CurrentAgent, request: FastifyRequest): SchedulePatchRequest['toChat'] {
  return (body) => toNewChat(agent, request, 'schedule', { body: body as never, at: ['body', 'request'] })
}

function previewRoute(app: App, { schedules }: ScheduleServices): void {
  app.post(
    `${path}/preview`,
    route('schedules.read', tag, {
      summary: 'The next times of a pattern in a time zone',
      text: 'Creates nothing. Use it before a schedule is created or changed: `note` says where the clocks of the zone move a time.',
      examples: {
        spring: {
          summary: 'A time that does not exist on one day of the year',
          value: { cron: '30 2 * * *', timezone: 'Europe/Berlin', from: '2027-03-27T12:00:00Z', count: 2 },
        },
      },
      body: PreviewBody,
      response: replies({ 200: Preview }, 422),
    }),
    async (request) => {
      const { cron, timezone, from, count } = request.body
      const spec = parseSpec({ cron, timezone })
      const after = from == null ? await schedules.now() : parseTime(from)
      if (after === undefined) throw invalid(['body', 'from'], timeFault)
      return { occurrences: previewOf(spec, after, count ?? 5) }
    },
  )
}

function readRoute(app: App, { schedules }: ScheduleServices): void {
  app.get(
    `${path}/:id`,
    route('schedules.read', tag, {
      summary: 'Get a schedule',
      text: `The header \`etag\` is for \`if-match\` of a change. ${whereId}`,
      params,
      response: replies({ 200: reply }, 404, 422),
    }),
    async (request, answer) => sendSchedule(answer, await schedules.find(principalOf(request), request.params.id)),
  )
}

function changeRoute(app: App, { schedules, agent }: ScheduleServices): void {
  app.patch(
    `${path}/:id`,
    route('schedules.write', tag, {
      summary: 'Change a schedule',
      description: 'A merge patch (RFC 7396): absent fields stay, and `null` restores the default.',
      text: `A change of \`cron\`, \`timezone\`, \`at\`, \`starts_at\` or \`ends_at\` moves the next time; any other change leaves it. Runs that have begun go on as they are. From now on, runs have what the key of this request may do. ${whereId}

- 409 \`ScheduleEnded\`. 412: \`if-match\` is not the \`etag\` of the schedule.`,
      examples: { name: { summary: 'Another name', value: { name: 'Sales of the week' } } },
      headers: Type.Object({
        'if-match': optionalText('The etag of the version that is changed; another one is answered with 412.'),
      }),
      params,
      body: SchedulePatch,
      response: replies({ 200: reply }, 400, 404, 409, 412, 422),
    }),
    async (request, answer) => {
      const { body } = request
      const caller = principalOf(request)
      if (body.request) requireAccess(caller, accessTo.chat)
      const has = (...fields: string[]) => fields.some((field) => Object.hasOwn(body.request ?? {}, field))
      const changed = await schedules.change(caller, request.params.id, {
        expects: toExpectation(request.headers['if-match']),
        merge: (shown) => toMerged(mergePatch(shown, body)),
        changesAttachments: has('images', 'context_files', 'data_filter_hints'),
        changesImages: has('images'),
        toChat: toChatOf(agent, request),
      })
      return sendSchedule(answer, changed)
    },
  )
}

function toMerged(merged: unknown): ReturnType<SchedulePatchRequest['merge']> {
  const { request, ...settings } = merged as { request: ScheduledChatText }
  return { request, settings }
}

function endRoute(app: App, { schedules }: ScheduleServices): void {
  app.delete(
    `${path}/:id`,
    route('schedules.write', tag, {
      summary: 'End a schedule',
      description: 'No time follows. Runs that have begun go on, and the fires stay readable for 90 days. A second call changes nothing.',
      text: `Use it for schedules that are no longer needed; \`pause\` is for those that will be. ${whereId}`,
      params,
      response: replies({ 200: reply }, 404, 422),
    }),
    async (request, answer) => {
      const ended = await schedules.end(principalOf(request), request.params.id)
      logChange(request, ended, 'A schedule was ended')
      return sendSchedule(answer, ended)
    },
  )
}

function pauseRoute(app: App, { schedules }: ScheduleServices): void {
  app.post(
    `${path}/:id/pause`,
    {
      ...route('schedules.write', tag, {
        summary: 'Pause a schedule',
        description: 'No time fires until the schedule is resumed. Runs that have begun go on. A paused schedule stays as it is.',
        text: `\`reason\` is shown as \`pause_reason\`. An administrator may pause schedules of the tenant. ${whereId}`,
        examples: { holidays: { summary: 'With a reason', value: { reason: 'Holidays' } } },
        params,
        body: PauseBody,
        response: replies({ 200: reply }, 404, 409, 422),
      }),
      preValidation(request, _reply, done) {
        request.body ??= {}
        done()
      },
    },
    async (request, answer) => {
      const paused = await schedules.pause(principalOf(request), request.params.id, request.body.reason ?? undefined)
      logChange(request, paused, 'A schedule was paused')
      return sendSchedule(answer, paused)
    },
  )
}

function resumeRoute(app: App, { schedules }: ScheduleServices): void {
  app.post(
    `${path}/:id/resume`,
    route('schedules.write', tag, {
      summary: 'Resume a paused schedule',
      description: 'Times that passed during the pause are dropped. From now on, runs have what the key of this request may do.',
      text: `Use it after a pause, also one by the service: \`pause_reason\` says why. ${whereId}`,
      params,
      response: replies({ 200: reply }, 403, 404, 409, 422),
    }),
    async (request, answer) => sendSchedule(answer, await schedules.resume(principalOf(request), request.params.id)),
  )
}

function triggerRoute(app: App, { schedules }: ScheduleServices): void {
  app.post(
    `${path}/:id/trigger`,
    route('schedules.write', tag, {
      summary: 'Fire a schedule now',
      description: 'Starts a run beside the times of the schedule: the next time stays. `overlap` and all limits apply.',
      text: `Use it to try a schedule. A paused schedule can be triggered too. The key needs the permission \`chat\` too. ${whereId}`,
      params,
      response: replies({ 200: Triggered }, 403, 404, 409, 422),
    }),
    async (request) => {
      const caller = principalOf(request)
      const { id } = await schedules.find(caller, request.params.id)
      requireAccess(caller, accessTo.chat)
      return toTriggered(await schedules.trigger(caller, id))
    },
  )
}

function firesRoute(app: App, { schedules }: ScheduleServices): void {
  app.get(
    `${path}/:id/fires`,
    route('schedules.read', tag, {
      summary: 'List what happened at the times of a schedule, newest first',
      text: `Each time has one entry, and each trigger. They are kept for 90 days. ${whereId}`,
      params,
      querystring: PageQuery,
      response: replies({ 200: FirePage }, 404, 422),
    }),
    async (request) => {
      const { rows, offset, hasMore } = await schedules.fires(principalOf(request), request.params.id, request.query as PageOf)
      return { fires: rows.map(toFireView), offset, has_more: hasMore }
    },
  )
}

function logChange({ log, ...request }: FastifyRequest, { id, owner, tenant }: ReadSchedule, text: string): void {
  const { principal } = request
  log.info({ by: principal?.owner, byKey: principal?.keyId, tenant, owner, schedule: id }, text)
}

function sendSchedule(answer: FastifyReply, schedule: ReadSchedule) {
  void answer.header('etag', `"${schedule.version}"`)
  return answer.send(toView(schedule, principalOf(answer.request)))
}

/** Administrators read the times of other callers' schedules, but not the questions. */
function toView(schedule: ReadSchedule, caller: Principal): Type.Static<typeof Schedule> {
  const { id, last, status, pauseReason, nextAt, createdAt, updatedAt, lastStatus } = schedule
  return {
    id,
    issuer: issuerOf(schedule),
    sub: subOf(schedule),
    ...toText(schedule),
    request: (schedule.owner === caller.owner ? schedule.request.body : {}) as Record<string, unknown>,
    status,
    ...(pauseReason === undefined ? {} : { pause_reason: pauseReason }),
    next_at: nextAt === undefined ? null : isoOf(nextAt),
    ...(last ? { last: { scheduled_for: isoOf(last.scheduledFor), request_id: last.requestId, status: lastStatus ?? null } } : {}),
    created_at: isoOf(createdAt),
    updated_at: isoOf(updatedAt),
  }
}

function toTriggered(fire: Fire | 'queued'): Type.Static<typeof Triggered> {
  if (fire === 'queued') return { outcome: 'queued' }
  const { outcome, reason, requestId } = fire
  return {
    outcome: outcome === 'missed' ? 'skipped' : outcome,
    ...(reason === undefined ? {} : { reason }),
    ...(requestId === undefined ? {} : { request_id: requestId }),
  }
}

function toFireView({ scheduledFor, firedAt, outcome, reason, count, requestId, status }: ListedFire) {
  return {
    scheduled_for: isoOf(scheduledFor),
    fired_at: isoOf(firedAt),
    outcome,
    ...(reason === undefined ? {} : { reason }),
    ...(count === 1 ? {} : { count }),
    ...(requestId === undefined ? {} : { request_id: requestId }),
    ...(status === undefined ? {} : { status }),
  }
}
