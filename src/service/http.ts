import type { FastifyInstance } from 'fastify'
import { firstRoutes } from '../http/first-routes.ts'
import { acceptInherited, type InheritedConnections } from '../http/server/connection.ts'
import { BodyBudget } from '../http/server/read-bodies.ts'
import { createServer, type ServerOptions } from '../http/server/server.ts'
import type { Settings } from '../settings/settings.ts'
import type { AllRoutesOptions } from './all-routes.ts'

interface HttpOptions extends Omit<ServerOptions, 'bodyLimit' | 'bodies' | 'publicUrl' | 'corsOrigins' | 'passOn'> {
  settings: Settings
  version: string
  services: AllRoutesOptions['services']
  /** The service's base URL for clients. */
  address(): string
  /** Folder of the built console; default: `dist/console` of the package. */
  consoleFolder?: string | undefined
  /** Folder of the built documentation; default: `dist/docs` of the package. */
  documentationFolder?: string | undefined
  /** Called when the service listens and its URL is known. */
  onListen(): void
}

interface OpenHttp extends Pick<InheritedConnections, 'take'> {
  /** The server that listens. */
  app: FastifyInstance
  /** The server with all routes, which answers what `app` has no route for. Made at the first call. */
  allRoutes(): Promise<FastifyInstance>
}

/** Makes the servers; none listens yet. */
export async function openHttp(stack: AsyncDisposableStack, options: HttpOptions): Promise<OpenHttp> {
  const { settings, services, limits } = options
  const { publicUrl, corsOrigins, metricsPublic, adminTenant, httpBodyLimit: bodyLimit } = settings
  const common = { ...options, bodyLimit, bodies: new BodyBudget({ bodyLimit }), publicUrl, corsOrigins }
  let opening: Promise<FastifyInstance> | undefined
  const open = async () => (await import('./all-routes.ts')).openAllRoutes(common)
  const allRoutes = () =>
    (opening ??= open().catch((error: unknown) => {
      opening = undefined
      throw error
    }))
  const app = createServer({ ...common, passOn: async (request, response) => (await allRoutes()).routing(request, response) })
  app.server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy())
    allRoutes().then(
      ({ server }) => void server.emit('upgrade', request, socket, head),
      () => socket.destroy(),
    )
  })
  const inherited = acceptInherited(app.server)
  stack.defer(() => closeServer(app, opening, inherited))
  // Must return nothing: Fastify logs any result of this hook as an error.
  app.addHook('onListen', async () => {
    options.onListen()
  })
  for (const addRoutes of firstRoutes) addRoutes(app, { ...services, adminTenant, limits, metricsPublic })
  await app.ready()
  return { app, allRoutes, take: inherited.take }
}

const lastBytesMs = 1000

/**
 * Closes the server. Answers get a moment to arrive; then open streams of unfinished runs are cut, which would block
 * the exit.
 */
async function closeServer(
  app: FastifyInstance,
  opening: Promise<FastifyInstance> | undefined,
  inherited: InheritedConnections,
): Promise<void> {
  const cut = setTimeout(() => app.server.closeAllConnections(), lastBytesMs)
  const allRoutes = await opening?.catch(() => undefined)
  await Promise.all([app.close(), allRoutes?.close()])
  await inherited.ended()
  clearTimeout(cut)
}

/** The default URL of the service, known once it listens. */
export function boundAddress(app: FastifyInstance, host: string): string {
  const bound = app.server.address()
  const port = bound !== null && typeof bound === 'object' ? bound.port : 0
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
