import path from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { createResourceMetadata } from '../http/doors/mcp/resource-metadata.ts'
import { documentRoutes, openApiRoute } from '../http/openapi/document.ts'
import { apiPageRoutes } from '../http/pages/api-page.ts'
import { consoleRoutes, openBundle, rootRoute } from '../http/pages/console.ts'
import { documentationRoutes } from '../http/pages/documentation.ts'
import { routes } from '../http/routes.ts'
import type { ServicesOf } from '../http/server/app.ts'
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

export interface AllRoutesOptions extends ServerOptions {
  settings: Settings
  version: string
  services: Omit<RouteServices, keyof OwnServices>
  address(): string
  consoleFolder?: string | undefined
  documentationFolder?: string | undefined
}

/** Makes a server with every route, the console and the documentation. It does not listen: requests are passed to it. */
export async function openAllRoutes(options: AllRoutesOptions): Promise<FastifyInstance> {
  const { settings, version, address, limits, verifier } = options
  const { publicUrl, metricsPublic, adminTenant } = settings
  const app = createServer(options)
  const bundle = await openBundle(options.consoleFolder ?? path.join(packageRoot, 'dist/console'))
  await documentRoutes(app, { version })
  const metadata = createResourceMetadata({ provider: settings.accessProvider, adminTenant, agent: options.services.agent })
  const own: OwnServices = { address, adminTenant, limits, metadata, metricsPublic, now: Date.now, publicUrl, verifier, version }
  const services = { ...options.services, ...own }
  await withOtherMethods(app, async () => {
    for (const addRoutes of routes) {
      addRoutes(app, services)
      // Running chats must not wait for all routes.
      await setImmediate()
    }
    consoleRoutes(app, bundle)
    documentationRoutes(app, options.documentationFolder ?? path.join(packageRoot, 'dist/docs'))
    openApiRoute(app, { publicUrl })
  })
  rootRoute(app)
  apiPageRoutes(app)
  await app.ready()
  return app
}
