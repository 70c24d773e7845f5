import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyTypeProvider,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify'
import type { Static, TSchema } from 'typebox'

/** A request's body, parameters and query have the types of the schemas of their route. */
interface SchemaTypes extends FastifyTypeProvider {
  readonly validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
}

/** The server as functions that add routes see it. */
export type App = FastifyInstance<RawServerDefault, RawRequestDefaultExpression, RawReplyDefaultExpression, FastifyBaseLogger, SchemaTypes>

/** The services that functions of routes take, together. */
export type ServicesOf<AddRoutes extends (app: never, services: never) => void> = [AddRoutes] extends [
  (app: never, services: infer Services) => void,
]
  ? Services
  : never
