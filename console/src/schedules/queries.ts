import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { Fire, NewSchedule, Schedule, SchedulePatch, VersionedSchedule } from '../../../client/src/index.ts'
import { createSchedules } from '../../../client/src/resources/schedules.ts'
import { client } from '../api/client.ts'
import { statusOf } from '../api/errors.ts'
import { live } from '../api/query-client.ts'
import { usePages } from '../parts/pages/use-pages.ts'

export type { Fire, NewSchedule, Schedule, SchedulePatch, VersionedSchedule }

const schedules = createSchedules(client)

const listKey = ['schedules'] as const

/** The schedules of the caller, newest first; for administrators, the schedules of the tenant. */
export function useSchedules() {
  return usePages<Schedule>({
    queryKey: listKey,
    load: async (before, signal) => {
      const page = await schedules.list({ before }, { signal })
      return { rows: page.schedules, offset: page.offset, has_more: page.has_more }
    },
    idOf: ({ id }) => id,
    isLive: true,
  })
}

/** A schedule with the version for conditional changes. */
export function useSchedule(id: string) {
  return useQuery({ queryKey: ['schedule', id], queryFn: ({ signal }) => schedules.get(id, { signal }), ...live })
}

/** The history of a schedule, the newest time first. */
export function useFires(id: string) {
  return usePages<Fire>({
    queryKey: ['schedule', id, 'fires'],
    load: async (before, signal) => {
      const { fires, offset, has_more } = await schedules.fires(id, { before }, { signal })
      return { rows: fires, offset, has_more }
    },
    idOf: ({ scheduled_for: time, request_id: run }) => `${time} ${run ?? ''}`,
    isLive: true,
  })
}

const previewed = 5

/** The next times of a pattern. A refused pattern is an error at once. */
export function usePreview(cron: string | undefined, timezone: string) {
  return useQuery({
    queryKey: ['schedule preview', cron, timezone],
    queryFn: async ({ signal }) => (await schedules.preview({ cron: cron!, timezone, count: previewed }, { signal })).occurrences,
    enabled: cron !== undefined,
    placeholderData: keepPreviousData,
    retry: (count, error) => statusOf(error) !== 422 && count < 2,
    staleTime: 30_000,
  })
}

export interface ScheduleChange {
  id: string
  patch: SchedulePatch
  /** The version before the change. */
  etag: string | undefined
}

/** Changes and actions. Each reads the list, the schedule and its history anew. */
export function useScheduleMutations() {
  const queryClient = useQueryClient()
  const onSuccess = () =>
    Promise.all([listKey, ['schedule'], ['holds']].map((queryKey) => queryClient.invalidateQueries({ queryKey, exact: false })))
  return {
    create: useMutation({ mutationFn: (schedule: NewSchedule) => schedules.create(schedule), onSuccess }),
    change: useMutation({
      mutationFn: ({ id, patch, etag }: ScheduleChange) => schedules.update(id, patch, { ifMatch: etag }),
      onSuccess,
    }),
    pause: useMutation({ mutationFn: ({ id }: Schedule) => schedules.pause(id), onSuccess }),
    resume: useMutation({ mutationFn: ({ id }: Schedule) => schedules.resume(id), onSuccess }),
    trigger: useMutation({ mutationFn: ({ id }: Schedule) => schedules.trigger(id), onSuccess }),
    end: useMutation({ mutationFn: ({ id }: Schedule) => schedules.delete(id), onSuccess }),
  }
}
