import path from 'node:path'
import type { FastifyInstance } from 'fastify'
import { routes } from '../http/routes.ts'
import { createResourceMetadata } from '../http/doors/mcp/resource-metadata.ts'
import { documentRoutes, openApiRoute } from '../http/openapi/document.ts'
import { apiPageRoutes } from '../http/pages/api-page.ts'
import { consoleRoutes, openBundle, rootRoute } from '../http/pages/console.ts'
import { documentationRoutes } from '../http/pages/documentation.ts'
import type { ServicesOf } from '../http/server/app.ts'
import { acceptInherited, type InheritedConnections } from '../http/server/connection.ts'
import { withOtherMethods } from '../http/server/other-methods.ts'
import { createServer, type ServerOptions } from '../http/server/server.ts'
import { packageRoot } from '../package-root.ts'
import type { Settings } from '../settings/settings.ts'

type RouteServices = ServicesOf<(typeof routes)[number]>

/** What the routes get from the settings and the server itself. */
type OwnServices = Pick<
  RouteServices,
  'address' | 'adminTenant' | 'limits' | 'metadata' | 'metricsPublic' | 'now' | 'publicUrl' | 'verifier' | 'version'
>

interface HttpOptions extends Omit<ServerOptions, 'bodyLimit' | 'publicUrl' | 'corsOrigins'> {
  settings: Settings
  version: string
  services: Omit<RouteServices, keyof OwnServices>
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
  app: FastifyInstance
}

/** Makes the server with all routes; the server does not listen yet. */
export async function openHttp(stack: AsyncDisposableStack, options: HttpOptions): Promise<OpenHttp> {
  const { settings, version, address, limits, verifier } = options
  const { publicUrl, corsOrigins, metricsPublic, adminTenant } = settings
  const app = createServer({ ...options, bodyLimit: settings.httpBodyLimit, publicUrl, corsOrigins })
  const inherited = acceptInherited(app.server)
  stack.defer(() => closeServer(app, inherited))
  // Must return nothing: Fastify logs any result of this hook as an error.
  app.addHook('onListen', async () => {
    options.onListen()
  })
  const bundle = await openBundle(options.consoleFolder ?? path.join(packageRoot, 'dist/console'))
  await documentRoutes(app, { version })
  const metadata = createResourceMetadata({ provider: settings.accessProvider, adminTenant, agent: options.services.agent })
  const own: OwnServices = { address, adminTenant, limits, metadata, metricsPublic, now: Date.now, publicUrl, verifier, version }
  const services = { ...options.services, ...own }
  withOtherMethods(app, () => {
    for (const addRoutes of routes) addRoutes(app, services)
    consoleRoutes(app, bundle)
    documentationRoutes(app, options.documentationFolder ?? path.join(packageRoot, 'dist/docs'))
    openApiRoute(app, { publicUrl })
  })
  rootRoute(app)
  apiPageRoutes(app)
  await app.ready()
  return { app, take: inherited.take }
}

const lastBytesMs = 1000

/**
 * Closes the server. Answers get a moment to arrive; then open streams of unfinished runs are cut, which would block
 * the exit.
 */
async function closeServer(app: FastifyInstance, inherited: InheritedConnections): Promise<void> {
  const cut = setTimeout(() => app.server.closeAllConnections(), lastBytesMs)
  await app.close()
  await inherited.ended()
  clearTimeout(cut)
}

/** The default URL of the service, known once it listens. */
export function boundAddress(app: FastifyInstance, host: string): string {
  const bound = app.server.address()
  const port = bound !== null && typeof bound === 'object' ? bound.port : 0
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
