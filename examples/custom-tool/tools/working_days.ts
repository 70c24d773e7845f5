import { defineTool } from 'agent-core'

const date = { type: 'string', pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' } as const
const dayMs = 86_400_000
const maxDays = 10 * 366

export default defineTool({
  description: 'Counts the working days (Monday to Friday) from one date to another, both included. Public holidays can be left out.',
  schema: {
    type: 'object',
    properties: {
      from: { ...date, description: 'The first day, such as 2026-12-21.' },
      to: { ...date, description: 'The last day.' },
      holidays: { type: 'array', items: date, description: 'Days off.' },
    },
    required: ['from', 'to'],
    additionalProperties: false,
  },
  effect: 'read',
  execute({ from, to, holidays = [] }, { log }) {
    const [first, last] = [toTime(from), toTime(to)]
    if (last < first) throw new Error(`${to} is before ${from}.`)
    if (last - first > maxDays * dayMs) throw new Error('The dates are more than ten years apart.')
    const days = Array.from({ length: (last - first) / dayMs + 1 }, (_, index) => new Date(first + index * dayMs))
    const weekdays = days.filter((day) => ![0, 6].includes(day.getUTCDay())).map(toText)
    const free = weekdays.filter((day) => holidays.includes(day))
    log(`${days.length} days, ${weekdays.length} weekdays, ${free.length} holidays`)
    return { working_days: weekdays.length - free.length }
  },
})

/** Milliseconds of a day that exists: Date.parse reads 2026-02-30 as 2 March. */
function toTime(text: string): number {
  const time = Date.parse(text)
  if (Number.isNaN(time) || toText(new Date(time)) !== text) throw new Error(`${text} is not a date.`)
  return time
}

function toText(day: Date): string {
  return day.toISOString().slice(0, 10)
}
