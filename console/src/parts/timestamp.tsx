import { useEffect, useState } from 'react'
import { formatExact, formatRelative } from './time-format.ts'

const tickMs = 30_000

interface TimestampProps {
  /** ISO 8601, or milliseconds since the epoch. */
  at: string | number
  /** Shows date and time instead of the distance from now. */
  isExact?: boolean
}

/** A time: how long ago, with date and time as its title. */
export function Timestamp({ at, isExact = false }: TimestampProps) {
  const time = new Date(at)
  const now = useNow(isExact ? undefined : tickMs)
  if (Number.isNaN(time.getTime())) return <span>{at}</span>
  const exact = formatExact(time)
  return (
    <time dateTime={time.toISOString()} title={exact}>
      {isExact ? exact : formatRelative(time, now)}
    </time>
  )
}

function useNow(everyMs: number | undefined): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    if (everyMs === undefined) return
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}
