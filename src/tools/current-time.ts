import { createTool, inputSchema, type ToolBuild, type ToolSpec } from './builder.ts'

const schema = inputSchema({
  timezone: {
    type: 'string',
    maxLength: 100,
    description: 'IANA name such as `Europe/Zurich`, or an offset such as `+02:00`; default UTC.',
  },
})

/** Returns `{time, timezone, weekday, date}`: ISO 8601 with the offset, the English weekday, the local date. `now` in epoch milliseconds. */
export function createCurrentTime(spec: ToolSpec, _deps?: unknown, now: () => number = Date.now): ToolBuild {
  // Creating an Intl.DateTimeFormat costs a hundred times as much as a call of `formatToParts`.
  const formats = new Map<string, Intl.DateTimeFormat>()
  const formatOf = (timezone: string) => {
    const format = formats.get(timezone) ?? createFormat(timezone)
    if (formats.size < maxFormats) formats.set(timezone, format)
    return format
  }
  return {
    tool: createTool(spec, {
      description: 'Tells the current date, time and weekday, in UTC or in a time zone.',
      schema,
      effect: 'read',
      execute: async (input) => {
        const timezone = String(input['timezone'] ?? 'UTC').trim()
        return toLocalTime(now(), timezone, formatOf(timezone))
      },
    }),
  }
}

/** Cached formats: there are about 600 time zones, plus offsets. */
const maxFormats = 1000

function toLocalTime(at: number, timezone: string, format: Intl.DateTimeFormat) {
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]))
  const date = `${parts['year']}-${parts['month']}-${parts['day']}`
  // `longOffset` is `GMT` for UTC itself, else `GMT+05:30`.
  const offset = parts['timeZoneName']?.replace(/^(GMT|UTC)/, '') || '+00:00'
  return {
    time: `${date}T${parts['hour']}:${parts['minute']}:${parts['second']}${offset}`,
    timezone,
    weekday: parts['weekday'] ?? '',
    date,
  }
}

function createFormat(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      weekday: 'long',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
      timeZoneName: 'longOffset',
    })
  } catch {
    throw new Error(`There is no time zone "${timeZone}". Use an IANA name such as Europe/Zurich.`)
  }
}
