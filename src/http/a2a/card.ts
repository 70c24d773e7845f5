import { A2A_PROTOCOL_VERSION, type AgentCard } from '@a2a-js/sdk'
import type { Agent } from '../../configuration/agent.ts'
import { inputModes } from './parts.ts'
import { toSkills } from './skills.ts'

export interface CardOptions {
  version: string
  /** Where clients reach the service, without a slash at the end. */
  address(): string
}

/** What anybody may know of the agent: names, but no description of a tool, since these tell of its data. */
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
