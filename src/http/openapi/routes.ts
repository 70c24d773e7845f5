import swagger from '@fastify/swagger'
import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import { describeRoute, withReferences, type DescribedRoute } from './document.ts'

export interface DocsOptions {
  version: string
}

const securitySchemes = {
  key: {
    type: 'apiKey',
    in: 'header',
    name: 'x-service-access',
    description: 'An access key, such as the one in `.agent-core/admin.key`.',
  },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'The same key as a bearer token, or a token of the identity provider.',
  },
} as const

/** Registers the OpenAPI plugin. Only routes that are registered afterwards appear in the document. */
export async function documentRoutes(app: App, { version }: DocsOptions): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Agent Core', version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
      components: { securitySchemes },
      security: [{ key: [] }, { bearer: [] }],
    },
    transform: (described) => describeRoute(described as unknown as DescribedRoute) as never,
    transformObject: (document) => ('openapiObject' in document ? withReferences(document.openapiObject) : document.swaggerObject) as never,
  })
}

/** Serves the OpenAPI document of all routes. `publicUrl` is its second server, beside the address of the document itself. */
export function openApiRoute(app: App, { publicUrl }: { publicUrl: string | undefined }): void {
  const schema = {
    tags: ['Documentation'],
    summary: 'Get this OpenAPI document',
    text: 'OpenAPI 3.1, for generators of clients. Every example of the document works on the sample agent. It needs no key.',
    response: { 200: Type.Record(Type.String(), Type.Unknown()) },
  }
  let text: string | undefined
  const createText = async () => JSON.stringify((await import('./texts.ts')).addTexts(app.swagger(), publicUrl))
  app.get('/openapi.json', { config: { access: 'public' }, schema }, async (_request, reply) =>
    reply
      .type('application/json; charset=utf-8')
      .serializer(String)
      .send((text ??= await createText())),
  )
}
