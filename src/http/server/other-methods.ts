import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import { ServiceError } from '../../errors.ts'
import type { ErrorShape } from './error-reply.ts'

interface PathMethods {
  methods: Set<string>
  pattern: RegExp
  hasParameters: boolean
  errorShape: ErrorShape | undefined
}

/** `hide` keeps the routes out of the OpenAPI document. */
const hidden: FastifySchema = { hide: true }

/** Methods of the registered routes by URL. A route for each other method would take a tenth of the start. */
const methodsOf = new WeakMap<FastifyInstance, Map<string, PathMethods>>()

/** Registers routes, so that `refuseOtherMethod` finds them. */
export function withOtherMethods(app: FastifyInstance, register: (app: FastifyInstance) => void): void {
  const paths = new Map<string, PathMethods>()
  let isCollecting = true
  app.addHook('onRoute', ({ url, method, config }) => {
    if (!isCollecting) return
    const errorShape = config?.errorShape
    const path = paths.get(url) ?? { methods: new Set(), pattern: toPattern(url), hasParameters: /(?<!:):(?!:)|\*/.test(url), errorShape }
    for (const name of [method].flat()) path.methods.add(name)
    paths.set(url, path)
  })
  register(app)
  isCollecting = false
  methodsOf.set(app, paths)
  for (const [url, path] of paths) refuseMethodsOfParameters(app, url, path)
}

/** The error for a request without a route: 405 with an `allow` header if the path has routes of other methods; otherwise undefined. */
export function refuseOtherMethod(request: FastifyRequest, reply: FastifyReply): ServiceError | undefined {
  const [path = ''] = request.url.split('?', 1)
  const matching = [...(methodsOf.get(request.server)?.values() ?? [])].filter(({ pattern }) => pattern.test(path))
  // A path without parameters comes before a path with parameters.
  const found = matching.find(({ hasParameters }) => !hasParameters) ?? matching[0]
  return found && refusalOf(request, reply, found.methods)
}

function refusalOf(request: FastifyRequest, reply: FastifyReply, methods: ReadonlySet<string>): ServiceError {
  const allow = [...methods].join(', ')
  void reply.header('allow', allow)
  return new ServiceError('method_not_allowed', `${request.method} is not allowed here; allowed: ${allow}.`)
}

/** `/sessions/search` must not be served by a route of `/sessions/:session_id` with another method. */
function refuseMethodsOfParameters(app: FastifyInstance, url: string, { methods, errorShape }: PathMethods): void {
  const others = [...methodsOf.get(app)!].filter(([other, { pattern }]) => other !== url && pattern.test(url))
  const method = [...new Set(others.flatMap(([, path]) => [...path.methods]))].filter((name) => !methods.has(name))
  if (method.length === 0) return
  app.route({
    method,
    url,
    schema: hidden,
    config: { access: 'public', ...(errorShape && { errorShape }) },
    // The hook refuses the request before its body is read.
    onRequest: async (request, reply) => {
      throw refusalOf(request, reply, methods)
    },
    handler: async () => undefined,
  })
}

/** `/runs/:request_id` matches `/runs/r` and `/runs/r/`. A doubled colon is a colon: `/tasks/:id(.+)::cancel` matches `/tasks/t:cancel`. */
function toPattern(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    const [parameter = ''] = /^:\w+(?:\(\.\+\))?/.exec(part) ?? []
    const text = RegExp.escape(part.slice(parameter.length).replaceAll('::', ':')).replace(String.raw`\*`, '.*')
    return (parameter === '' ? '' : '[^/]+') + text
  })
  return new RegExp(`^${parts.join('/').replace(/\/$/, '')}/?$`)
}
