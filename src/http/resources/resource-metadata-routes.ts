import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import { notFound } from '../server/error-reply.ts'
import { keepOutOfCaches } from '../server/origin.ts'
import { wellKnownPath, type ResourceMetadata } from './resource-metadata.ts'
import { ErrorReply } from './schemas.ts'

const Metadata = Type.Object({
  resource: Type.String({ description: 'The address that the metadata is about, for the parameter `resource` of a token request.' }),
  authorization_servers: Type.Array(Type.String(), { description: 'The issuer of the identity provider.' }),
  scopes_supported: Type.Array(Type.String()),
  bearer_methods_supported: Type.Array(Type.String()),
  resource_name: Type.String(),
  resource_documentation: Type.String(),
})

/** Metadata of `/mcp` for OAuth clients (RFC 9728). Without an identity provider there is none. */
export function resourceMetadataRoutes(app: App, metadata: ResourceMetadata | undefined): void {
  const answer = (path: string, request: FastifyRequest, reply: FastifyReply) => {
    const document = metadata?.documentAt(path, request)
    if (!document) throw notFound(request)
    keepOutOfCaches(request, reply)
    return document
  }
  const schema = {
    tags: ['Protocols'],
    summary: 'The identity provider for MCP clients (OAuth protected resource metadata, RFC 9728)',
    response: { 200: Metadata, 404: ErrorReply },
  }
  const config = { access: 'public' } as const
  const ofService = () => ({
    description: 'The same for the service as a whole: `resource` is the address of the service.',
  })
  app.get(wellKnownPath, { config, schema: { ...schema, details: ofService } }, async (request, reply) => answer('', request, reply))
  const ofMcp = () => ({
    description:
      'Names the identity provider for clients of `/mcp`, as RFC 9728 describes: they sign their user in there and send the token as a bearer token. 404 without an identity provider (`ACCESS_ISSUER`), and with one whose issuer is no address. Behind a proxy with a prefix, the prefix may also stand in front of the last segment.',
  })
  app.get(`${wellKnownPath}/mcp`, { config, schema: { ...schema, details: ofMcp } }, async (request, reply) =>
    answer('/mcp', request, reply),
  )
  // Behind a proxy with a prefix, the path of the resource has the prefix too.
  app.get<{ Params: { '*': string } }>(`${wellKnownPath}/*`, { config, schema: { hide: true } }, async (request, reply) =>
    answer(`/${request.params['*']}`, request, reply),
  )
}
