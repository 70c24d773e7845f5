import { budgetScopes, budgetWindows } from '../../configuration/budget-schema.ts'
import { Type, type TSchema, type TObject, type TProperties } from 'typebox'
import { idPattern } from '../server/request-headers.ts'
import { invalid } from '../../errors.ts'
import type { FastifyContextConfig, FastifySchema } from 'fastify'

/** Schemas that routes of all kinds share. */

const schemas = new Map<string, TSchema>()

/** Gives a schema a name in the OpenAPI document: a generated client gets a type of this name. */
export function named<T extends TSchema>(name: string, schema: T): T {
  if (schemas.has(name)) throw new Error(`Two schemas are called ${name}.`)
  schemas.set(name, schema)
  return schema
}

/** A named schema of an object, with a description before its fields if there is one. */
export function namedObject<T extends TProperties>(name: string, fields: T): TObject<T>
export function namedObject<T extends TProperties>(name: string, description: string, fields: T): TObject<T>
export function namedObject<T extends TProperties>(name: string, ...[text, fields]: [T] | [string, T]): TObject<T> {
  return named(name, typeof text === 'string' ? Type.Object(fields!, { description: text }) : Type.Object(text))
}

/** The schemas that have a name, in the order of their names. */
export function namedSchemas(): Record<string, TSchema> {
  return Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The schema of an object with a description. */
export function object<T extends TProperties>(description: string, fields: T): TObject<T> {
  return Type.Object(fields, { description })
}

/** The schema of an object that has no other fields. */
export function closed<T extends TProperties>(fields: T): TObject<T> {
  return Type.Object(fields, { additionalProperties: false })
}

export const Id = Type.String({ pattern: idPattern })

export const IdHeaders = Type.Object({ 'session-id': Type.Optional(Id), 'request-id': Type.Optional(Id) })

export const maxListed = 100

/** `limit` of a page. */
export const pageLimit = Type.Integer({ minimum: 1, maximum: maxListed, default: 45 })

/** `before` of lists whose `offset` is opaque. */
export const Offset = Type.Optional(
  Type.String({ minLength: 1, maxLength: 8192, description: 'The `offset` of the page before: this page begins after that page.' }),
)

/** The query of lists whose `offset` is an id. */
export const IdPageQuery = Type.Object({
  limit: pageLimit,
  before: Type.Optional(
    Type.Intersect([Id, Type.String({ description: 'The `offset` of the page before: this page begins after that page.' })]),
  ),
})

/** The end of a page for `IdPageQuery`. `rows` has one element more than the page, where there are more. */
export function positionOf(rows: readonly { id: string }[], limit: number): { offset: string; has_more: boolean } {
  return { offset: rows.slice(0, limit).at(-1)?.id ?? '', has_more: rows.length > limit }
}

/** How a list goes on. */
export const pageFields = {
  offset: Type.String({ description: '`before` of the next page; empty for an empty page.' }),
  has_more: Type.Boolean(),
}

const FaultReply = Type.Object({
  loc: Type.Array(Type.Union([Type.String(), Type.Integer()])),
  msg: Type.String(),
  type: Type.String(),
  line: Type.Optional(Type.Integer({ description: 'The line in a YAML text that was sent, from 1.' })),
})

export const amounts = { usd: Type.Optional(Type.Number()), tokens: Type.Optional(Type.Integer()) }

export const Amounts = Type.Object(amounts)

/** The used up budget. Amounts are shown to callers who may read the budget. */
export const budgetDetails = {
  budget: Type.Optional(Type.String({ description: 'The name of the budget that is used up.' })),
  scope: Type.Optional(Type.Enum([...budgetScopes])),
  window: Type.Optional(Type.Enum([...budgetWindows])),
  limit: Type.Optional(Amounts),
  spent: Type.Optional(Amounts),
  reserved: Type.Optional(Amounts),
  resets_at: Type.Optional(Type.String({ format: 'date-time', description: 'When the budget is whole again.' })),
}

/** Why a configuration has not passed its gate. */
const gateDetails = {
  config_hash: Type.Optional(Type.String({ description: 'Of a GateNotPassed: the changed configuration, as experiments name it.' })),
  files: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Of a GateNotPassed: the skills and modules whose files have changed, such as `skills[refunds]`.',
    }),
  ),
  dataset: Type.Optional(Type.String({ description: 'The dataset that the gate names.' })),
  experiment: Type.Optional(
    Type.Object(
      {
        id: Type.String(),
        pass_rate: Type.Union([Type.Number(), Type.Null()]),
        added: Type.Integer({ description: 'Writes that the recordings do not have.' }),
        ended_at: Type.String({ format: 'date-time' }),
      },
      { description: 'The newest completed experiment of the changed configuration. Absent without one.' },
    ),
  ),
  reason: Type.Optional(Type.String({ description: 'What is missing.' })),
}

export const ErrorReply = namedObject('Error', 'An error: a message, the HTTP status and the error type.', {
  body: Type.String(),
  status_code: Type.Integer(),
  details: Type.Optional(
    Type.Object({
      error_type: Type.String(),
      output: Type.Optional(Type.String({ description: 'The last text of the model, of a SchemaMismatch.' })),
      errors: Type.Optional(Type.Array(FaultReply, { description: 'The faults of a ValidationError that has no `detail`.' })),
      ...budgetDetails,
      ...gateDetails,
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

/** Fields that have the same schema. */
export function each<T extends TSchema, N extends string>(schema: T, ...names: N[]): Record<N, T> {
  return Object.fromEntries(names.map((name) => [name, schema])) as Record<N, T>
}

export const optionalText = (description: string) => Type.Optional(Type.String({ description }))

/** A request body that works as it stands on the sample agent. */
type RequestExamples = Record<string, { summary: string; value: unknown }>

/** What the OpenAPI document says about an operation beside its schemas. */
export interface OperationText {
  /** Markdown: the operation's work, when to use the operation, and possible errors. The text follows the description of the route. */
  text?: string
  /** Example values of parameters, by name. They replace those of `openapi/texts.ts`. */
  parameters?: Record<string, unknown>
  /** Optional parameters that "Try it out" fills in with the example. */
  prefilled?: readonly string[]
  /** Examples of the body by name. "Try it out" sends the first one. */
  examples?: RequestExamples
  /** Examples of a body of several media types, by media type. */
  requests?: Record<string, RequestExamples>
}

declare module 'fastify' {
  interface FastifySchema extends OperationText {}
}

/** The configuration and the schema of a route under the heading `tag` of the document. `access` alone is its permission. */
export function route<const S extends FastifySchema>(
  access: FastifyContextConfig | NonNullable<FastifyContextConfig['access']>,
  tag: string,
  schema: S,
): { config: FastifyContextConfig; schema: S } {
  const config = typeof access === 'string' || Array.isArray(access) ? { access } : access
  return { config: config as FastifyContextConfig, schema: { tags: [tag], ...schema } }
}

/** The replies of a route that needs a key: the successes, and errors with the given statuses beside the errors of every route. */
export function replies(successes: Record<number, unknown>, ...statuses: number[]): Record<number, unknown> {
  const errors = statuses.map((status): [number, TSchema] => [status, status === 422 ? ValidationReply : ErrorReply])
  return { ...successes, ...Object.fromEntries(errors), ...refusals }
}

/** The header of replies that `if-match` refers to. */
export const etag = { etag: { type: 'string', description: 'The version, for if-match.' } }

/** Epoch milliseconds as ISO 8601, UTC. */
export function toIso(ms: number): string {
  return new Date(ms).toISOString()
}
