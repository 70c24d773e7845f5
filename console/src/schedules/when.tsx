import { Timestamp } from '../parts/timestamp.tsx'
import { describeCron } from './pattern.ts'
import type { Schedule } from './queries.ts'

/** The times of a schedule in words, or as a pattern. */
export function When({ schedule: { cron, timezone, at } }: { schedule: Schedule }) {
  if (cron !== undefined) {
    const words = describeCron(cron)
    return (
      <span title={words === cron ? undefined : cron}>
        {words} ({timezone})
      </span>
    )
  }
  return at === undefined ? null : (
    <>
      Once, <Timestamp at={at} isExact />
    </>
  )
}
