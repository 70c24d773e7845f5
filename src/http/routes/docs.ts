import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyError, FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { notFound, sendError } from '../error-reply.ts'
import { describeRoute, withReferences, type DescribedRoute } from '../openapi.ts'

export interface DocsOptions {
  version: string
  /** Undefined: the page sends requests to its own origin. */
  publicUrl: string | undefined
}

/** Registers the OpenAPI plugin. Only routes that are registered afterwards appear in the document. */
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

/** Serves the OpenAPI document of all routes. */
export function openApiRoute(app: FastifyInstance): void {
  const schema = {
    tags: ['Documentation'],
    summary: 'Get this OpenAPI document',
    response: { 200: Type.Record(Type.String(), Type.Unknown()) },
  }
  app.get('/openapi.json', { config: { access: 'public' }, schema }, async () => app.swagger())
}

/**
 * The page may load its own files only. Without `upgrade-insecure-requests`, http addresses stay http. Swagger UI sets styles by script, which
 * needs no permission.
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
  // The default validator is a third-party host, which would learn the address of this service.
  validatorUrl: null,
  // `BaseLayout` has no top bar: the policy would refuse the inline styles of the logo there.
  layout: 'BaseLayout',
}

/** A page to read the OpenAPI document and try its routes, served without third-party hosts. */
export async function docsRoutes(app: FastifyInstance): Promise<void> {
  await app.register(async (docs) => {
    docs.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: 'public' }
    })
    // @fastify/static throws for a path outside of its folder.
    docs.setErrorHandler((error: FastifyError, request, reply) => {
      const isRefused = error.statusCode !== undefined && error.statusCode < 500
      return sendError(isRefused ? notFound(request) : error, request, reply)
    })
    await docs.register(swaggerUi, { routePrefix: '/docs', staticCSP: contentSecurityPolicy, theme: { title: 'Agent Core' }, uiConfig })
  })
}
