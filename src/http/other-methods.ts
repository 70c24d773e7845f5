import { METHODS } from 'node:http'
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify'
import { ServiceError } from '../errors.ts'

/** `hide` keeps the routes out of the OpenAPI document. */
const hidden: FastifySchema = { hide: true }

/** All methods but CONNECT, whose target is a host and not a path. */
const methods = METHODS.filter((method) => method !== 'CONNECT')

/** Registers routes, then answers 405 with an `allow` header for every other method on the same paths. */
export function withOtherMethods(app: FastifyInstance, register: (app: FastifyInstance) => void): void {
  const routesByUrl = new Map<string, { methods: Set<string>; config: RouteOptions['config'] }>()
  let isCollecting = true
  app.addHook('onRoute', ({ url, method, config }) => {
    if (!isCollecting) return
    const route = routesByUrl.get(url) ?? { methods: new Set(), config }
    for (const name of [method].flat()) route.methods.add(name)
    routesByUrl.set(url, route)
  })
  register(app)
  isCollecting = false
  for (const method of methods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  for (const [url, { methods: allowed, config }] of routesByUrl) {
    const method = methods.filter((name) => !allowed.has(name))
    const allow = [...allowed].join(', ')
    app.route({
      method,
      url,
      schema: hidden,
      config: { access: 'public', ...(config?.errorShape && { errorShape: config.errorShape }) },
      // The hook refuses the request before its body is read.
      onRequest: async (request, reply) => {
        void reply.header('allow', allow)
        throw new ServiceError('method_not_allowed', `${request.method} is not allowed here; allowed: ${allow}.`)
      },
      handler: async () => undefined,
    })
  }
}
