import { METHODS } from 'node:http'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { ServiceError } from '../errors.ts'

/** Not a part of the documented interface; `hide` is known to the one who writes that. */
const hidden: FastifySchema = { hide: true }

/** Without CONNECT, which names a host and no path. */
const methods = METHODS.filter((method) => method !== 'CONNECT')

/** Registers routes, then answers 405 with `allow` where one of their paths is asked with another method. */
export function withOtherMethods(app: FastifyInstance, register: (app: FastifyInstance) => void): void {
  const known = new Map<string, Set<string>>()
  let isCollecting = true
  app.addHook('onRoute', ({ url, method }) => {
    if (!isCollecting) return
    const of = known.get(url) ?? new Set<string>()
    for (const one of [method].flat()) of.add(one)
    known.set(url, of)
  })
  register(app)
  isCollecting = false
  for (const method of methods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  for (const [url, allowed] of known) {
    const method = methods.filter((one) => !allowed.has(one))
    const allow = [...allowed].join(', ')
    app.route({
      method,
      url,
      schema: hidden,
      config: { access: 'public' },
      // Before the body is looked at: the method is wrong whatever it holds.
      onRequest: async (request, reply) => {
        void reply.header('allow', allow)
        throw new ServiceError('method_not_allowed', `${request.method} is not allowed here; allowed: ${allow}.`)
      },
      handler: async () => undefined,
    })
  }
}
