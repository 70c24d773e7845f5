import { Timestamp } from '../parts/timestamp.tsx'
import { describeCron } from './pattern.ts'
import type { Schedule } from './queries.ts'

/** When a schedule fires, in words where there are some. */
export function When({ schedule: { cron, timezone, at } }: { schedule: Schedule }) {
  if (cron !== undefined) return <span title={`${cron} in ${timezone ?? ''}`}>{describeCron(cron)}</span>
  return at === undefined ? null : (
    <>
      Once, <Timestamp at={at} isExact />
    </>
  )
}
