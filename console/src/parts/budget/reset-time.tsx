import { formatExact, formatInZone } from '../time-format.ts'
import { Timestamp } from '../timestamp.tsx'

/** When a budget is whole again: distance, date and time of the reader, and those of the budget's zone where they differ. */
export function ResetTime({ at, timezone }: { at: string; timezone?: string | undefined }) {
  const time = new Date(at)
  const here = formatExact(time)
  const there = timezone === undefined ? here : formatInZone(time, timezone)
  return (
    <>
      <Timestamp at={at} /> ({here}
      {there !== here && `; ${there} in ${timezone}`})
    </>
  )
}
