import type { FastifyRequest, FastifyInstance } from 'fastify'
import { ServiceError } from '../../errors.ts'
import type { ReadText } from './read-bodies.ts'
import { batchType, eventType } from './cloud-events.ts'
import { a2aType } from '../doors/a2a/google-status.ts'
import { errorShapeOf } from './error-reply.ts'

const mebibyte = 1024 * 1024

/** Routes with images or files in their bodies; their limit is `HTTP_BODY_LIMIT`. */
const routesWithImages = new Set([
  '/core/v1/chain',
  '/core/v1/chain_streaming',
  '/core/v1/chain_async',
  '/v1/chat/completions',
  '/v1/responses',
  '/ag-ui',
  '/ui/chat',
  '/a2a',
  '/a2a/v1/message::send',
  '/a2a/v1/message::stream',
])

/** Limits in bytes of routes whose bodies hold text or data without images. */
const textLimits: Record<string, number> = {
  // The body may hold the content of a file for `write_file`, or the rows of a chart.
  '/core/v1/tool/execute': 4 * mebibyte,
  '/mcp': 4 * mebibyte,
  // The body may hold a changed input of the tool.
  '/core/v1/runs/:request_id/approvals': 4 * mebibyte,
  '/core/v1/agent/config': 4 * mebibyte,
}

/** Limit in bytes of all other routes, whose bodies hold names, settings or feedback. */
const otherLimit = mebibyte

/** Sets the `bodyLimit` of each route that is registered later, unless the route sets its own. `bodyLimit` bounds every limit. */
export function limitBodies(app: FastifyInstance, bodyLimit: number): void {
  app.addHook('onRoute', (route) => {
    const routeLimit = routesWithImages.has(route.url) ? bodyLimit : (textLimits[route.url] ?? otherLimit)
    route.bodyLimit ??= Math.min(routeLimit, bodyLimit)
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for a route that takes `application/yaml`; its body is then the text. */
    takesYaml?: boolean
  }
}

/** RFC 9512. */
export const yamlType = 'application/yaml'

type Done = (error: Error | null, body?: unknown) => void

/**
 * Reads bodies of JSON, and on routes that take them, of YAML as text. An empty body with a JSON content type is accepted here; the schema of
 * the route requires a body where needed.
 */
export function parseTexts(app: FastifyInstance, readText: ReadText): void {
  // Fastify accepts text/plain by default.
  app.removeContentTypeParser(['text/plain', 'application/json'])
  const parseText = app.getDefaultJsonParser('error', 'error')
  const parseJson = (request: FastifyRequest, text: string, done: Done) =>
    text === '' ? done(null, undefined) : void parseText(request, text, done)

  function add(type: string | string[], takes: (request: FastifyRequest) => boolean | undefined, parse: typeof parseJson): void {
    app.addContentTypeParser(type, (request: FastifyRequest, _payload: unknown, done: Done) => {
      const coding = request.headers['content-encoding'] ?? 'identity'
      if (coding !== 'identity')
        return done(refusal(`The content coding ${coding} is not supported: send the body without a content coding.`))
      if (!takes(request)) return done(refusal('The content type must be application/json.'))
      readText(request, (error, text) => (error ? done(error) : parse(request, text, done)))
    })
  }

  add('application/json', () => true, parseJson)
  add([eventType, batchType], ({ routeOptions }) => routeOptions.config.takesEvents, parseJson)
  add(a2aType, (request) => errorShapeOf(request) === 'a2a', parseJson)
  add(
    yamlType,
    ({ routeOptions }) => routeOptions.config.takesYaml,
    (_request, text, done) => done(null, text),
  )
}

function refusal(message: string): ServiceError {
  return new ServiceError('unsupported_media_type', message)
}
