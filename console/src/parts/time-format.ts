const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' })
const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

const units = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

/** Distance of a time from `now` (milliseconds), such as "3 min. ago" or "in 2 days". */
export function formatRelative(time: Date, now: number): string {
  const seconds = (time.getTime() - now) / 1000
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? []
  return unit === undefined || size === undefined ? 'now' : relative.format(Math.trunc(seconds / size), unit)
}

/** Date and time to the second, in the time zone of the browser. */
export function formatExact(time: Date): string {
  return exact.format(time)
}

/** Date and time to the second, in a time zone; as in the browser's zone where the zone is unknown. */
export function formatInZone(time: Date, timeZone: string): string {
  try {
    return new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium', timeZone }).format(time)
  } catch {
    return formatExact(time)
  }
}

/** A duration in its two largest units: "85 ms", "1.2 s", "3 min 5 s", "2 h 10 min". */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(ms < 10_000 ? 1 : 0))} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
}
