import { METHODS } from 'node:http'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { ServiceError } from '../errors.ts'

/** `hide` keeps the routes out of the OpenAPI document. */
const hidden: FastifySchema = { hide: true }

/** All methods but CONNECT, whose target is a host and not a path. */
const methods = METHODS.filter((method) => method !== 'CONNECT')

/** Registers routes, then answers 405 with an `allow` header for every other method on the same paths. */
export function withOtherMethods(app: FastifyInstance, register: (app: FastifyInstance) => void): void {
  const methodsByUrl = new Map<string, Set<string>>()
  let isCollecting = true
  app.addHook('onRoute', ({ url, method }) => {
    if (!isCollecting) return
    const routeMethods = methodsByUrl.get(url) ?? new Set<string>()
    for (const name of [method].flat()) routeMethods.add(name)
    methodsByUrl.set(url, routeMethods)
  })
  register(app)
  isCollecting = false
  for (const method of methods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  for (const [url, allowed] of methodsByUrl) {
    const method = methods.filter((name) => !allowed.has(name))
    const allow = [...allowed].join(', ')
    app.route({
      method,
      url,
      schema: hidden,
      config: { access: 'public' },
      // The hook refuses the request before its body is read.
      onRequest: async (request, reply) => {
        void reply.header('allow', allow)
        throw new ServiceError('method_not_allowed', `${request.method} is not allowed here; allowed: ${allow}.`)
      },
      handler: async () => undefined,
    })
  }
}
