import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

export interface Docs {
  version: string
  /** Undefined: wherever the page was loaded from. */
  publicUrl: string | undefined
}

/** Collects the schemas of the routes that are registered after it. */
export async function documentRoutes(app: FastifyInstance, { version, publicUrl }: Docs): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Agent Core', version, description: 'One configured AI agent behind HTTP.' },
      servers: [{ url: publicUrl ?? '/' }],
      components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-service-access' } } },
      security: [{ key: [] }],
    },
  })
}

/** The document of all routes. */
export function openApiRoute(app: FastifyInstance): void {
  app.get('/openapi.json', { config: { access: 'public' }, schema: { hide: true } }, async () => app.swagger())
}

/** A page to read the document and try it, from this service alone. */
export async function docsRoutes(app: FastifyInstance): Promise<void> {
  await app.register(async (docs) => {
    docs.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: 'public' }
    })
    await docs.register(swaggerUi, { routePrefix: '/docs', staticCSP: true })
  })
}
