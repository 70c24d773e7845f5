import type { FastifyContextConfig, FastifySchema } from 'fastify'
import type { TSchema } from 'typebox'
import { ErrorReply, refusals, ValidationReply } from './shared.ts'

/** A request body that works as it stands on the sample agent. */
export type RequestExamples = Record<string, { summary: string; value: unknown }>

/** What the OpenAPI document says about an operation beside its schemas. */
export interface OperationText {
  /** Markdown: what the operation does, when to use it, what can go wrong. It follows the description of the route. */
  text?: string
  /** Example values of parameters, by name. They replace those of `openapi/parameters.ts`. */
  parameters?: Record<string, unknown>
  /** Parameters whose example "Try it out" fills in although they are optional. */
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

/** The replies of a route that needs a key: its successes, and errors with these statuses beside those of every route. */
export function replies(successes: Record<number, unknown>, ...statuses: number[]): Record<number, unknown> {
  const errors = statuses.map((status): [number, TSchema] => [status, status === 422 ? ValidationReply : ErrorReply])
  return { ...successes, ...Object.fromEntries(errors), ...refusals }
}
