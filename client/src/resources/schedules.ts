import type { CallOptions, Query, Reply, RequestOptions } from '../operation.ts'
import type { Transport } from '../transport.ts'
import { nextPage, readPages } from './pages.ts'

export type SchedulePage = Reply<'GET', '/core/v1/schedules'>
export type Schedule = SchedulePage['schedules'][number]
export type NewSchedule = RequestOptions<'POST', '/core/v1/schedules'>['body']
export type SchedulePatch = NonNullable<RequestOptions<'PATCH', '/core/v1/schedules/{id}'>['body']>
export type SchedulePreviewRequest = RequestOptions<'POST', '/core/v1/schedules/preview'>['body']
export type SchedulePreview = Reply<'POST', '/core/v1/schedules/preview'>
export type TriggeredSchedule = Reply<'POST', '/core/v1/schedules/{id}/trigger'>
export type FirePage = Reply<'GET', '/core/v1/schedules/{id}/fires'>
export type Fire = FirePage['fires'][number]

type ListQuery = Query<'GET', '/core/v1/schedules'>

/** A schedule with the version for conditional changes. */
export type VersionedSchedule = Schedule & { etag: string | undefined }

export interface CreateScheduleOptions extends CallOptions {
  /** Makes a repeated call safe: the same id and the same request create one schedule. */
  requestId?: string | undefined
}

export interface ChangeScheduleOptions extends CallOptions {
  /** The `etag` before the change. Throws 412 if the schedule was changed meanwhile. */
  ifMatch?: string | undefined
}

/** Chats at given times. */
export interface Schedules {
  /** Lists a page of the caller's schedules, newest first; with the role `admin`, the schedules of the tenant. */
  list(query?: ListQuery, options?: CallOptions): Promise<SchedulePage>
  /** Yields all schedules, page by page. */
  all(query?: ListQuery, options?: CallOptions): AsyncGenerator<Schedule, void>
  get(id: string, options?: CallOptions): Promise<VersionedSchedule>
  create(schedule: NewSchedule, options?: CreateScheduleOptions): Promise<VersionedSchedule>
  /** Merges fields into a schedule (RFC 7396). A change of `cron`, `timezone` or `at` moves the next time, no other change does. */
  update(id: string, fields: SchedulePatch, options?: ChangeScheduleOptions): Promise<VersionedSchedule>
  /** Ends a schedule. Running chats go on. */
  delete(id: string, options?: CallOptions): Promise<Schedule>
  /** Fires no more times until the schedule is resumed. */
  pause(id: string, reason?: string, options?: CallOptions): Promise<Schedule>
  /** Fires the next time again. The times of the pause are dropped. */
  resume(id: string, options?: CallOptions): Promise<Schedule>
  /** Fires now. The next time stays. */
  trigger(id: string, options?: CallOptions): Promise<TriggeredSchedule>
  /** Lists a page of the history, the newest time first. */
  fires(id: string, query?: Query<'GET', '/core/v1/schedules/{id}/fires'>, options?: CallOptions): Promise<FirePage>
  /** Returns the next times of a pattern. Nothing is stored. */
  preview(request: SchedulePreviewRequest, options?: CallOptions): Promise<SchedulePreview>
}

const path = '/core/v1/schedules'
const pathOfOne = '/core/v1/schedules/{id}'

export function createSchedules(transport: Transport): Schedules {
  const list: Schedules['list'] = (query, options) => transport.request('GET', path, { ...options, query })
  const parts = (id: string, options?: CallOptions) => ({ ...options, path: { id } })

  return {
    list,
    all(query, options) {
      const load = (before: string | undefined) => list({ ...query, ...(before === undefined ? {} : { before }) }, options)
      return readPages(load, { elements: ({ schedules }) => schedules, next: nextPage })
    },
    get: async (id, options) => versioned(await transport.exchange('GET', pathOfOne, parts(id, options))),
    create: async (body, { requestId, headers, ...options } = {}) =>
      versioned(await transport.exchange('POST', path, { ...options, headers: { ...headers, 'request-id': requestId }, body })),
    update: async (id, body, { ifMatch, headers, ...options } = {}) => {
      const call = { ...parts(id, options), headers: { ...headers, 'if-match': ifMatch }, body }
      return versioned(await transport.exchange('PATCH', pathOfOne, call))
    },
    delete: (id, options) => transport.request('DELETE', pathOfOne, parts(id, options)),
    pause: (id, reason, options) =>
      transport.request('POST', `${pathOfOne}/pause`, { ...parts(id, options), body: reason === undefined ? {} : { reason } }),
    resume: (id, options) => transport.request('POST', `${pathOfOne}/resume`, parts(id, options)),
    trigger: (id, options) => transport.request('POST', `${pathOfOne}/trigger`, parts(id, options)),
    fires: (id, query, options) => transport.request('GET', `${pathOfOne}/fires`, { ...parts(id, options), query }),
    preview: (body, options) => transport.request('POST', `${path}/preview`, { ...options, body }),
  }
}

function versioned({ body, headers }: { body: Schedule; headers: Headers }): VersionedSchedule {
  return { ...body, etag: headers.get('etag') ?? undefined }
}
