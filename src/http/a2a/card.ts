import { A2A_PROTOCOL_VERSION, type AgentCard } from '@a2a-js/sdk'
import type { Agent } from '../../configuration/agent.ts'
import { inputModes } from './parts.ts'
import { toSkills } from './skills.ts'

export interface CardOptions {
  version: string
  /** The public URL of the service, without a trailing slash. */
  address(): string
}

/** The public agent card. The card names tools without their own descriptions, which may quote data. */
export function toCard({ config, tools }: Pick<Agent, 'config' | 'tools'>, { version, address }: CardOptions): AgentCard {
  const { name, description } = config
  return {
    name,
    description,
    version,
    supportedInterfaces: [{ url: `${address()}/a2a`, protocolBinding: 'JSONRPC', tenant: '', protocolVersion: A2A_PROTOCOL_VERSION }],
    provider: undefined,
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false, extensions: [] },
    securitySchemes: {
      key: { scheme: { $case: 'apiKeySecurityScheme', value: { description: '', location: 'header', name: 'x-service-access' } } },
      bearer: { scheme: { $case: 'httpAuthSecurityScheme', value: { description: '', scheme: 'Bearer', bearerFormat: 'JWT' } } },
    },
    securityRequirements: [{ schemes: { key: { list: [] } } }, { schemes: { bearer: { list: [] } } }],
    defaultInputModes: inputModes,
    defaultOutputModes: ['text/plain'],
    skills: toSkills(config, tools.list()),
    signatures: [],
  }
}
