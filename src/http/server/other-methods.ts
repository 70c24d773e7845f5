import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import { ServiceError } from '../../errors.ts'
import type { ErrorShape } from './error-reply.ts'

interface PathMethods {
  url: string
  methods: Set<string>
  matches(path: string): boolean
  hasParameters: boolean
  errorShape: ErrorShape | undefined
}

/** `hide` keeps the routes out of the OpenAPI document. */
const hidden: FastifySchema = { hide: true }

/** Methods of the registered routes. A route for each other method would take a tenth of the start. */
const methodsOf = new WeakMap<FastifyInstance, PathMethods[]>()

/** Registers routes, so that `refuseOtherMethod` finds them. */
export async function withOtherMethods(app: FastifyInstance, register: () => Promise<void>): Promise<void> {
  const paths = new Map<string, PathMethods>()
  let isCollecting = true
  app.addHook('onRoute', ({ url, method, config }) => {
    if (!isCollecting) return
    const errorShape = config?.errorShape
    const path = paths.get(url) ?? { url, methods: new Set(), ...toMatcher(url), errorShape }
    for (const name of [method].flat()) path.methods.add(name)
    paths.set(url, path)
  })
  await register()
  isCollecting = false
  const all = [...paths.values()]
  methodsOf.set(app, all)
  for (const path of all) refuseMethodsOfParameters(app, path, all)
}

/** The error for a request without a route: 405 with an `allow` header if the path has routes of other methods; otherwise undefined. */
export function refuseOtherMethod(request: FastifyRequest, reply: FastifyReply): ServiceError | undefined {
  const [path = ''] = request.url.split('?', 1)
  const matching = (methodsOf.get(request.server) ?? []).filter(({ matches }) => matches(path))
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
function refuseMethodsOfParameters(app: FastifyInstance, { url, methods, errorShape }: PathMethods, all: readonly PathMethods[]): void {
  const others = all.filter((other) => other.url !== url && other.matches(url))
  const method = [...new Set(others.flatMap((other) => [...other.methods]))].filter((name) => !methods.has(name))
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

/** The text before the first parameter and the number of parts decide for most paths, so that few patterns are compiled. */
function toMatcher(url: string): Pick<PathMethods, 'matches' | 'hasParameters'> {
  const hasParameters = /(?<!:):(?!:)|\*/.test(url)
  const text = withoutLastSlash(url).replaceAll('::', ':')
  if (!hasParameters) return { hasParameters, matches: (path) => path === text || path === `${text}/` }
  const start = url.split(/[:*]/, 1)[0]!
  const countParts = (path: string) => withoutLastSlash(path).split('/').length
  const parts = url.includes('*') ? undefined : countParts(url)
  let pattern: RegExp | undefined
  const matches = (path: string) =>
    path.startsWith(start) && (parts === undefined || parts === countParts(path)) && (pattern ??= toPattern(url)).test(path)
  return { hasParameters, matches }
}

function withoutLastSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path
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
