import { useEffect, useState } from 'react'
import { Duration } from '../parts/figures.tsx'

/** Time since the begin of a running run; counts on. */
export function RunningDuration({ since }: { since: string }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  return <Duration ms={Math.max(0, now - Date.parse(since))} />
}
