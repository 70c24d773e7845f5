/** The repetitions in the form. */
export type Kind = 'hourly' | 'daily' | 'weekdays' | 'weekly' | 'monthly' | 'once' | 'cron'

/** The fields of the form for a pattern. A change of the kind keeps the values of hidden fields. */
export interface Repetition {
  kind: Kind
  /** `08:30` on the clocks of the zone. */
  time: string
  /** 0 is Sunday. */
  weekday: string
  /** Day of the month; `L` is the last day. */
  day: string
  cron: string
}

export const kinds: readonly { value: Kind; label: string }[] = [
  { value: 'hourly', label: 'Every hour' },
  { value: 'daily', label: 'Every day' },
  { value: 'weekdays', label: 'Monday to Friday' },
  { value: 'weekly', label: 'Every week' },
  { value: 'monthly', label: 'Every month' },
  { value: 'cron', label: 'Cron pattern' },
  { value: 'once', label: 'Once' },
]

export const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const

export const noRepetition: Repetition = { kind: 'daily', time: '08:00', weekday: '1', day: '1', cron: '0 8 * * *' }

/** The pattern of a repetition; undefined while a field is not complete, and for a single time. */
export function toCron({ kind, time, weekday, day, cron }: Repetition): string | undefined {
  if (kind === 'once') return undefined
  if (kind === 'cron') return cron.trim() || undefined
  const [hour, minute] = /^(\d\d):(\d\d)$/.exec(time)?.slice(1).map(Number) ?? []
  if (hour === undefined || minute === undefined) return undefined
  if (kind === 'hourly') return `${minute} * * * *`
  const days = { daily: '* * *', weekdays: '* * 1-5', weekly: `* * ${weekday}`, monthly: `${day} * *` }
  return `${minute} ${hour} ${days[kind]}`
}

/** The repetition of a pattern: the kind with the same pattern, or the pattern itself. */
export function toRepetition(cron: string): Repetition {
  const pattern = { ...noRepetition, kind: 'cron', cron } as const
  const [, minute, hour, days] = /^(\d{1,2}) (\d{1,2}|\*) (\S+ \S+ \S+)$/.exec(cron) ?? []
  if (minute === undefined || hour === undefined || days === undefined) return pattern
  const time = `${(hour === '*' ? '0' : hour).padStart(2, '0')}:${minute.padStart(2, '0')}`
  const [day = '1', , weekday = '1'] = days.split(' ')
  const candidates = kinds.map(({ value }) => ({ ...pattern, kind: value, time, day, weekday: weekday === '7' ? '0' : weekday }))
  const isOffered = ({ kind, weekday: chosen, day: date }: Repetition) =>
    kind !== 'cron' && (kind !== 'weekly' || weekdays[Number(chosen)] !== undefined) && (kind !== 'monthly' || /^(\d{1,2}|L)$/.test(date))
  return candidates.find((candidate) => isOffered(candidate) && toCron(candidate) === cron) ?? pattern
}

/** A pattern in words; patterns without words stay. */
export function describeCron(cron: string): string {
  const [, minutes] = /^\*\/(\d{1,2}) \* \* \* \*$/.exec(cron) ?? []
  // Other steps begin anew with the hour.
  if (minutes !== undefined && 60 % Number(minutes) === 0) return `Every ${minutes} minutes`
  const { kind, time, weekday, day } = toRepetition(cron)
  switch (kind) {
    case 'hourly':
      return `Every hour, at minute ${Number(time.slice(3))}`
    case 'daily':
      return `Every day at ${time}`
    case 'weekdays':
      return `Monday to Friday at ${time}`
    case 'weekly':
      return `${weekdays[Number(weekday)]}s at ${time}`
    case 'monthly':
      return day === 'L' ? `The last day of each month at ${time}` : `Day ${day} of each month at ${time}`
    default:
      return cron
  }
}
