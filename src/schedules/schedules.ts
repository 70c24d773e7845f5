import { isAdmin, type Principal } from '../access/permissions.ts'
import type { AgentConfig } from '../configuration/schema.ts'
import { invalid, ServiceError } from '../errors.ts'
import { parsePosition, toOffset } from '../json/offset.ts'
import type { NewChat } from '../runs/new-chat.ts'
import { nameOf } from '../runs/intake/open.ts'
import type { Acceptance } from '../runs/ownership/async-runs.ts'
import { assertAhead } from './calendar.ts'
import { nextAfter } from './catch-up.ts'
import { droppedFires, ended, following, pausedBy } from './decide.ts'
import type { FireSchedule } from './firing.ts'
import type { Fire, ListedFire, ReadSchedule, Schedule, ScheduledRequest, ScheduleSettings } from './schedule.ts'
import type { ScheduleChange, ScheduleChanges, ScheduleStore } from './schedule-store.ts'
import { isOther, refuseFrequent, toSettings, toText, type SettingsText } from './settings.ts'

/** The chat of a schedule, as sent by the owner. */
export interface ScheduledChatText {
  readonly [field: string]: unknown
  images?: { content: string; type: 'base64' | 'file_path' }[] | null | undefined
  callback_url?: string | null | undefined
  callback_events?: readonly string[] | null | undefined
}

/** Parses a chat; throws for faults. */
type ToChat = (request: ScheduledChatText) => NewChat

export interface NewScheduleRequest {
  requestId: string
  settings: SettingsText
  request: ScheduledChatText
  /** Differs between requests with other content. */
  bodyHash: string
  toChat: ToChat
}

export interface SchedulePatchRequest {
  expects(version: string): boolean
  /** RFC 7396 on the whole schedule as it is shown. */
  merge(shown: object): { settings: SettingsText; request: ScheduledChatText }
  /** True where the patch has attachments or data filter hints. */
  changesAttachments: boolean
  /** True where the patch has images: those before are not kept. */
  changesImages: boolean
  toChat: ToChat
}

interface PageQuery {
  limit: number
  before: string | undefined
}

export interface Page<Row> {
  rows: Row[]
  offset: string
  hasMore: boolean
}

/**
 * Schedules of callers. Schedules of another caller are found only by administrators of the tenant, with the right to read, pause and
 * end schedules.
 */
export interface Schedules {
  create(caller: Principal, request: NewScheduleRequest): Promise<ReadSchedule>
  list(caller: Principal, page: PageQuery): Promise<Page<ReadSchedule>>
  find(caller: Principal, id: string): Promise<ReadSchedule>
  change(caller: Principal, id: string, patch: SchedulePatchRequest): Promise<ReadSchedule>
  pause(caller: Principal, id: string, reason: string | undefined): Promise<ReadSchedule>
  resume(caller: Principal, id: string): Promise<ReadSchedule>
  end(caller: Principal, id: string): Promise<ReadSchedule>
  trigger(caller: Principal, id: string): Promise<Fire | 'queued'>
  fires(caller: Principal, id: string, page: PageQuery): Promise<Page<ListedFire>>
  now(): Promise<number>
}

export interface SchedulesDependencies {
  store: ScheduleStore
  runs: Pick<Acceptance, 'check'>
  fire: Pick<FireSchedule, 'trigger'>
  config(): AgentConfig['schedules']
  /** Called when a schedule may be due sooner. */
  onChanged(): void
  newId(): string
}

export function createSchedules(dependencies: SchedulesDependencies): Schedules {
  const { store } = dependencies
  return { now: () => store.now(), ...createReads(dependencies), ...createChanges(dependencies), ...createStates(dependencies) }
}

function createReads({ store }: SchedulesDependencies): Pick<Schedules, 'list' | 'find' | 'fires'> {
  const find = createFind(store)
  return {
    find,

    async list(caller, { limit, before }) {
      const owner = isAdmin(caller) ? undefined : caller.owner
      const position = positionOf(before, 'string')
      return toPage(await store.list(caller.tenant, { owner, limit: limit + 1, before: position }), limit, ({ id }) => id)
    },

    async fires(caller, id, { limit, before }) {
      const schedule = await find(caller, id)
      const position = positionOf(before, 'number')
      return toPage(await store.fires(schedule, { limit: limit + 1, before: position }), limit, ({ scheduledFor }) => scheduledFor)
    },
  }
}

interface Types {
  string: string
  number: number
}

function positionOf<Type extends keyof Types>(before: string | undefined, type: Type): Types[Type] | undefined {
  if (before === undefined) return undefined
  const [position, ...more] = parsePosition(before) ?? []
  const isTime = type === 'string' || Number.isSafeInteger(position)
  if (typeof position === type && isTime && more.length === 0) return position as Types[Type]
  throw invalid(['query', 'before'], 'is not the offset of a page of this list')
}

function toPage<Row>(found: Row[], limit: number, positionOf: (row: Row) => string | number): Page<Row> {
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  return { rows, offset: last ? toOffset([positionOf(last)]) : '', hasMore: found.length > limit }
}

function createFind(store: Pick<ScheduleStore, 'find'>): Schedules['find'] {
  return async (caller, id) => {
    const schedule = await store.find(caller.tenant, id)
    if (schedule && (schedule.owner === caller.owner || isAdmin(caller))) return schedule
    throw new ServiceError('not_found', `There is no schedule ${id}.`)
  }
}

/** The schedule, if the caller is its owner: administrators do not ask in the name of another caller. */
function createFindOwn(store: Pick<ScheduleStore, 'find'>): Schedules['find'] {
  const find = createFind(store)
  return async (caller, id) => {
    const schedule = await find(caller, id)
    if (schedule.owner === caller.owner) return schedule
    throw new ServiceError(
      'forbidden',
      'Only the owner of a schedule changes, resumes and triggers it. An administrator may pause and end it.',
    )
  }
}

function createChanges(dependencies: SchedulesDependencies): Pick<Schedules, 'create' | 'change'> {
  const { store, runs, config, onChanged, newId } = dependencies
  const findOwn = createFindOwn(store)

  async function checkRequest(caller: Principal, request: ScheduledChatText, toChat: ToChat, kept?: ScheduledRequest['chat']) {
    const chat = toChat(request)
    const { callback_url: callbackUrl, callback_events: callbackEvents } = request
    const event = { source: 'schedules', id: chat.requestId, callbackUrl: callbackUrl ?? undefined }
    const { headers: _headers, traceparent: _traceparent, ...content } = chat.request
    const { attachments: _attachments, ...rest } = chat
    const asked = { ...(kept ? rest : chat), request: { ...(kept ? keptAttachments(kept) : {}), ...content, headers: {} } }
    const checked = await runs.check(caller, event, asked)
    const scheduled: ScheduledRequest = {
      chat: checked.request,
      bodyHash: chat.bodyHash,
      body: withoutBytes(request),
      callbackUrl: event.callbackUrl,
      reportsInterruptions: (callbackEvents ?? []).length > 0,
    }
    return { scheduled, media: { images: checked.images ?? [], files: checked.files ?? [] } }
  }

  async function create(caller: Principal, { requestId, settings: text, request, bodyHash, toChat }: NewScheduleRequest) {
    const earlier = await store.findCreated(caller, requestId)
    if (earlier) return sameAs(earlier, bodyHash, requestId)
    assertEnabled(config())
    const id = newId()
    const { scheduled, media } = await checkRequest(caller, request, toChat)
    const defaultName = nameOf(scheduled.chat.messages.at(-1)?.content ?? '')
    const settings = toSettings(text, { defaultName, ownSessionId: id })
    const now = await store.now()
    assertTimes(settings, now)
    const schedule = newSchedule(caller, { id, settings, request: scheduled, version: newId(), now })
    const { max_per_caller: perCaller, max_per_tenant: perTenant } = config()
    const added = await store.insert({ schedule, media, requestId, bodyHash }, { perCaller, perTenant }, caller)
    if (added === 'known') return sameAs(await store.findCreated(caller, requestId), bodyHash, requestId)
    if (added !== 'added') throw limitReached(added, added === 'caller' ? perCaller : perTenant)
    onChanged()
    return { ...schedule, lastStatus: undefined }
  }

  function assertTimes({ spec }: ScheduleSettings, now: number): void {
    assertAhead(spec, now)
    refuseFrequent(spec, now, config().min_interval * 1000)
  }

  /** Unchanged bytes are in the store: images that a patch does not name are checked again with them. */
  async function withBytes(schedule: ReadSchedule, request: ScheduledChatText): Promise<ScheduledChatText> {
    const { images } = await store.media(schedule)
    const restored = request.images?.map((image, n) => (image.type === 'base64' ? { ...image, content: images[n]?.data ?? '' } : image))
    return restored ? { ...request, images: restored } : request
  }

  async function change(caller: Principal, id: string, patch: SchedulePatchRequest): Promise<ReadSchedule> {
    const schedule = await findOwn(caller, id)
    assertUnended(schedule)
    assertVersion(schedule, patch)
    const merged = patch.merge({ ...toText(schedule), request: schedule.request.body })
    const ownSessionId = schedule.session.kind === 'same' ? schedule.session.sessionId : id
    const settings = toSettings(merged.settings, { defaultName: schedule.name, ownSessionId })
    const { changesAttachments, changesImages } = patch
    const request = changesAttachments && !changesImages ? await withBytes(schedule, merged.request) : merged.request
    const { scheduled, media } = await checkRequest(caller, request, patch.toChat, changesAttachments ? undefined : schedule.request.chat)
    const changesTimes = isOther(schedule.spec, settings.spec)
    const toChange = (current: ReadSchedule, now: number): ScheduleChange => {
      assertUnended(current)
      assertVersion(current, patch)
      if (changesTimes) assertTimes(settings, now)
      const isOver = settings.maxFires !== undefined && current.fires >= settings.maxFires
      const times = isOver ? ended : timesAfter(current, settings, { changesTimes, now })
      const version = { version: newId(), updatedAt: now }
      return {
        changes: { ...settings, request: scheduled, ...identityOf(caller, now), ...times, ...version },
        media: changesAttachments ? media : undefined,
        fires: isOver ? droppedFires(current, now) : [],
      }
    }
    const changed = await store.change(schedule, toChange, caller)
    onChanged()
    return changed
  }

  return { create, change }
}

/** The checked attachments of the request before. */
function keptAttachments({ images, contextFiles, documents, files }: ScheduledRequest['chat']) {
  return {
    ...(images ? { images } : {}),
    ...(contextFiles ? { contextFiles } : {}),
    ...(documents ? { documents } : {}),
    ...(files ? { files } : {}),
  }
}

/** The next time stays, unless the times of the schedule are others: then no time up to now fires. */
function timesAfter(current: Schedule, settings: ScheduleSettings, { changesTimes, now }: { changesTimes: boolean; now: number }) {
  if (current.status !== 'active') return {}
  const jitter = { id: current.id, ms: settings.jitterMs }
  const watermark = Math.max(now, current.watermark)
  if (changesTimes) return { watermark, ...following(nextAfter(settings.spec, watermark, jitter), current.queuedFor, now) }
  if (settings.jitterMs === current.jitterMs || current.nextAt === undefined) return {}
  return following(nextAfter(settings.spec, current.nextAt - 1, jitter), current.queuedFor, now)
}

function assertEnabled({ enabled }: AgentConfig['schedules']): void {
  if (!enabled) throw new ServiceError('forbidden', 'Schedules are switched off: `schedules.enabled` of agent.yaml is false.')
}

function assertUnended({ id, status }: Schedule): void {
  if (status === 'ended') throw new ServiceError('schedule_ended', `Schedule ${id} has ended.`)
}

function assertVersion({ id, version }: Schedule, { expects }: SchedulePatchRequest): void {
  if (!expects(version)) throw new ServiceError('precondition_failed', `Schedule ${id} was changed: its version is ${version}.`)
}

function sameAs(earlier: Awaited<ReturnType<ScheduleStore['findCreated']>>, bodyHash: string, requestId: string): ReadSchedule {
  if (earlier?.bodyHash === bodyHash) return earlier.schedule
  throw new ServiceError('request_id_reused', `The request id ${requestId} was used for another request.`)
}

function limitReached(whose: 'caller' | 'tenant', limit: number): ServiceError {
  return new ServiceError('schedule_limit', `The ${whose} has ${limit} schedules; no more are taken.`)
}

/** Runs have the rights of the last caller to change the schedule. */
function identityOf({ permissions: _permissions, ...identity }: Principal, now: number): Pick<Schedule, 'identity' | 'seenAt'> {
  return { identity, seenAt: now }
}

interface NewParts extends Pick<Schedule, 'id' | 'request' | 'version'> {
  settings: ScheduleSettings
  now: number
}

function newSchedule(caller: Principal, { id, settings, request, version, now }: NewParts): Schedule {
  const next = nextAfter(settings.spec, now, { id, ms: settings.jitterMs })
  const { tenant, owner } = caller
  return {
    tenant,
    owner,
    id,
    ...settings,
    request,
    ...identityOf(caller, now),
    status: 'active',
    pauseReason: undefined,
    nextAt: next?.at,
    dueAt: next?.dueAt,
    watermark: now,
    queuedFor: undefined,
    fires: 0,
    last: undefined,
    countsFrom: now,
    version,
    revision: 0,
    createdAt: now,
    updatedAt: now,
  }
}

function withoutBytes(request: ScheduledChatText): object {
  const { images } = request
  return images ? { ...request, images: images.map((image) => (image.type === 'base64' ? { ...image, content: '' } : image)) } : request
}

/** Two triggers of one millisecond are two fires. */
function triggerTime({ last, queuedFor = 0 }: Schedule, now: number): number {
  return Math.max(now, queuedFor + 1, (last?.scheduledFor ?? 0) + 1)
}

/** Undefined: the schedule stays as it is. */
type ToChanges = (current: ReadSchedule, now: number) => ScheduleChanges | undefined

/** Repetitions of a trigger whose schedule changes meanwhile. */
const maxTries = 5

function createStates(dependencies: SchedulesDependencies): Pick<Schedules, 'pause' | 'resume' | 'end' | 'trigger'> {
  const { store, fire, config, onChanged, newId } = dependencies
  const find = createFind(store)
  const findOwn = createFindOwn(store)

  /** An unchanged schedule stays as it is. */
  async function changeState(caller: Principal, schedule: ReadSchedule, toChanges: ToChanges) {
    const toChange = (current: ReadSchedule, now: number): ScheduleChange => {
      const changes = toChanges(current, now)
      if (!changes) return { changes: {} }
      const fires = 'queuedFor' in changes ? droppedFires(current, now) : []
      return { changes: { ...changes, version: newId(), updatedAt: now }, fires }
    }
    return store.change(schedule, toChange, caller)
  }

  return {
    async pause(caller, id, reason) {
      return changeState(caller, await find(caller, id), (current) => {
        assertUnended(current)
        return current.status === 'paused' ? undefined : pausedBy(reason)
      })
    },

    async resume(caller, id) {
      assertEnabled(config())
      const resumed = await changeState(caller, await findOwn(caller, id), (current, now) => {
        assertUnended(current)
        if (current.status === 'active') return undefined
        // A clock that has gone back fires nothing again.
        const watermark = Math.max(now, current.watermark)
        const next = nextAfter(current.spec, watermark, { id, ms: current.jitterMs })
        const active = { status: 'active', pauseReason: undefined, watermark, countsFrom: now } as const
        return { ...active, ...identityOf(caller, now), ...following(next, undefined, now) }
      })
      onChanged()
      return resumed
    },

    async end(caller, id) {
      return changeState(caller, await find(caller, id), (current) => (current.status === 'ended' ? undefined : ended))
    },

    async trigger(caller, id) {
      assertEnabled(config())
      for (let tries = 0; tries < maxTries; tries++) {
        const schedule = await findOwn(caller, id)
        assertUnended(schedule)
        const firing = await fire.trigger(schedule, triggerTime(schedule, await store.now()) + 2 * tries)
        if (!firing) continue
        onChanged()
        return firing.fires.at(-1) ?? 'queued'
      }
      throw new ServiceError('overloaded', `Schedule ${id} is changed at the same time.`, { retryAfter: 1 })
    },
  }
}
