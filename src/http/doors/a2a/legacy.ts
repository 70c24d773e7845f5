import { A2A_VERSION_HEADER, type AgentCard } from '@a2a-js/sdk'
import type { A2ARequestHandler, JsonRpcTransportHandler } from '@a2a-js/sdk/server'
import type { FastifyRequest } from 'fastify'
import { fieldsOf } from '../../../json/shape.ts'

/** A2A 0.3 over JSON-RPC: its clients call the same operations under other names, and read the same card. */
export const legacyVersion = '0.3'

/** A2A 1.0, 3.6.2: a request without the header has version 0.3. */
export function versionOf({ headers }: FastifyRequest): string {
  return String(headers[A2A_VERSION_HEADER.toLowerCase()] ?? '') || legacyVersion
}

/** Whether a request is one of version 0.3: its methods have a slash in their name. */
export function isLegacyCall(version: string, method: unknown): boolean {
  return version === legacyVersion && typeof method === 'string' && method.includes('/')
}

/** Translates requests of version 0.3, and their answers. */
export async function createLegacyTransport(handler: A2ARequestHandler): Promise<Pick<JsonRpcTransportHandler, 'handle'>> {
  const { LegacyJsonRpcTransportHandler } = await import('@a2a-js/sdk/compat/v0_3/server')
  return new LegacyJsonRpcTransportHandler(handler)
}

/** The card with the interfaces of the current version. */
export function currentCard(card: AgentCard): AgentCard {
  return { ...card, supportedInterfaces: card.supportedInterfaces.filter(({ protocolVersion }) => protocolVersion !== legacyVersion) }
}

/** Adds the fields of a card of version 0.3. Readers of either version ignore the fields of the other. */
export function withLegacyFields(card: unknown): object {
  const { supportedInterfaces, securitySchemes, securityRequirements, capabilities, ...rest } = fieldsOf(card)
  const [preferred] = supportedInterfaces as { url: string }[]
  const requirements = (securityRequirements as { schemes: object }[]).map(({ schemes }) => Object.keys(schemes))
  return {
    ...rest,
    supportedInterfaces,
    capabilities,
    securitySchemes: {
      key: { ...fieldsOf(fieldsOf(securitySchemes)['key']), type: 'apiKey', in: 'header', name: 'x-service-access' },
      bearer: { ...fieldsOf(fieldsOf(securitySchemes)['bearer']), type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    },
    securityRequirements,
    protocolVersion: '0.3.0',
    url: preferred!.url,
    preferredTransport: 'JSONRPC',
    supportsAuthenticatedExtendedCard: true,
    security: requirements.map((names) => Object.fromEntries(names.map((name) => [name, []]))),
  }
}
