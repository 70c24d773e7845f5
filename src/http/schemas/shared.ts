import { Type, type TSchema } from 'typebox'
import { idPattern } from '../server/request-headers.ts'
import { namedObject } from './named.ts'
import { invalid } from '../../errors.ts'

/** Schemas that routes of all kinds share. */

export const Id = Type.String({ pattern: idPattern })

export const IdHeaders = Type.Object({ 'session-id': Type.Optional(Id), 'request-id': Type.Optional(Id) })

export const maxListed = 100

/** `limit` of a page. */
export const pageLimit = Type.Integer({ minimum: 1, maximum: maxListed, default: 45 })

/** `before` of lists whose `offset` is opaque. */
export const Offset = Type.Optional(
  Type.String({ minLength: 1, maxLength: 8192, description: 'The `offset` of the page before: this page begins after that page.' }),
)

const FaultReply = Type.Object({
  loc: Type.Array(Type.Union([Type.String(), Type.Integer()])),
  msg: Type.String(),
  type: Type.String(),
  line: Type.Optional(Type.Integer({ description: 'The line in a YAML text that was sent, from 1.' })),
})

export const ErrorReply = namedObject('Error', 'An error: a message, the HTTP status and the error type.', {
  body: Type.String(),
  status_code: Type.Integer(),
  details: Type.Optional(
    Type.Object({
      error_type: Type.String(),
      output: Type.Optional(Type.String({ description: 'The last text of the model, of a SchemaMismatch.' })),
      errors: Type.Optional(Type.Array(FaultReply, { description: 'The faults of a ValidationError that has no `detail`.' })),
    }),
  ),
})

export const ValidationReply = namedObject('ValidationError', 'The faults of the request, each with its location.', {
  detail: Type.Array(FaultReply),
})

/** Error replies of every route that needs a key. */
export const refusals = { 401: ErrorReply, 403: ErrorReply, 429: ErrorReply, 500: ErrorReply, 503: ErrorReply }

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

/** A field that may be null. */
export function orNull<T extends TSchema>(schema: T, description?: string) {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description })
}

/** An optional field; `null` counts as absent. */
export function maybe<T extends TSchema>(schema: T, description?: string) {
  return Type.Optional(orNull(schema, description))
}

export const optionalText = (description: string) => Type.Optional(Type.String({ description }))
