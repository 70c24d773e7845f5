import { toLocalTime } from '../json/time.ts'
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
  return {
    tool: createTool(spec, {
      description: 'Tells the current date, time and weekday, in UTC or in a time zone.',
      schema,
      effect: 'read',
      execute: async (input) => {
        const timezone = String(input['timezone'] ?? 'UTC').trim()
        const local = toLocalTime(now(), timezone)
        if (!local) throw new Error(`There is no time zone "${timezone}". Use an IANA name such as Europe/Zurich.`)
        const { time, weekday, date } = local
        return { time, timezone, weekday, date }
      },
    }),
  }
}
