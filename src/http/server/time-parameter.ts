import { Type } from 'typebox'
import { invalid } from '../../errors.ts'

/** An optional time in a query. */
export const Time = (description: string) =>
  Type.Optional(
    Type.String({
      pattern: '^\\d{4}-\\d\\d-\\d\\d(T\\d\\d:\\d\\d(:\\d\\d(\\.\\d{1,9})?)?(Z|[+-]\\d\\d:\\d\\d))?$',
      description: `${description} An ISO 8601 time with its zone, or a date in UTC.`,
    }),
  )

/** Epoch milliseconds of a time that has the pattern of `Time`. */
export function toTime(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw invalid(['query', name], 'is not a time of the calendar')
  return time
}
