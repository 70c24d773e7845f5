import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyError, FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { notFound, sendError } from '../error-reply.ts'
import { describeRoute, withReferences, type DescribedRoute } from '../openapi.ts'

export interface DocsOptions {
  version: string
  /** Undefined: wherever the page was loaded from. */
  publicUrl: string | undefined
}

/** Collects the schemas of the routes that are registered after it. */
export async function documentRoutes(app: FastifyInstance, { version, publicUrl }: DocsOptions): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Agent Core', version, description: 'One configured AI agent behind HTTP.' },
      servers: [{ url: publicUrl ?? '/' }],
      components: {
        securitySchemes: {
          key: { type: 'apiKey', in: 'header', name: 'x-service-access' },
          bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        },
      },
      security: [{ key: [] }, { bearer: [] }],
    },
    transform: (described) => describeRoute(described as unknown as DescribedRoute) as never,
    transformObject: (document) => ('openapiObject' in document ? withReferences(document.openapiObject) : document.swaggerObject) as never,
  })
}

/** The document of all routes. */
export function openApiRoute(app: FastifyInstance): void {
  const schema = { tags: ['Documentation'], summary: 'This document', response: { 200: Type.Record(Type.String(), Type.Unknown()) } }
  app.get('/openapi.json', { config: { access: 'public' }, schema }, async () => app.swagger())
}

/**
 * What the page may load: its own files alone. Addresses stay http where the service is reached over http. Swagger UI sets styles
 * by script, which needs no permission.
 */
const contentSecurityPolicy = [
  "default-src 'self'",
  "base-uri 'self'",
  "connect-src 'self'",
  "font-src 'self' data:",
  "form-action 'self'",
  "frame-ancestors 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "script-src 'self'",
  "script-src-attr 'none'",
  "style-src 'self'",
].join('; ')

const uiConfig = {
  // The validator is a foreign host, which would be given the address of this service.
  validatorUrl: null,
  // Without the bar on top, whose logo is a picture with a style sheet of its own: the policy refuses it.
  layout: 'BaseLayout',
}

/** A page to read the document and try it, from this service alone. */
export async function docsRoutes(app: FastifyInstance): Promise<void> {
  await app.register(async (docs) => {
    docs.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: 'public' }
    })
    // @fastify/static throws where a path leaves its folder.
    docs.setErrorHandler((error: FastifyError, request, reply) => {
      const isRefused = error.statusCode !== undefined && error.statusCode < 500
      return sendError(isRefused ? notFound(request) : error, request, reply)
    })
    await docs.register(swaggerUi, { routePrefix: '/docs', staticCSP: contentSecurityPolicy, theme: { title: 'Agent Core' }, uiConfig })
  })
}
