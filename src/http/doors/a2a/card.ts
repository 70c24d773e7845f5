import { A2A_PROTOCOL_VERSION, type AgentCard, type AgentSkill } from '@a2a-js/sdk'
import { permits } from '../../../access/operations.ts'
import type { Principal } from '../../../access/principal.ts'
import type { Agent } from '../../../configuration/agent.ts'
import type { SubAgents } from '../../../sub-agents/sub-agents.ts'
import { chatOptionsExtension } from './chat-options.ts'
import { legacyVersion } from './legacy.ts'
import { inputModesOf } from './parts.ts'
import { toDescribedSkills, toPublicSkills, toSubAgentSkill } from './skills.ts'

export interface CardOptions {
  version: string
  /** The public URL of the service, without a trailing slash. */
  address(): string
}

/** The path of the HTTP+JSON binding, below which the routes of the specification are. */
export const httpPath = '/a2a/v1'

type CardAgent = Pick<Agent, 'config' | 'tools' | 'model'>

/** The public agent card. The card names tools without their own descriptions, which may quote data. */
export function toCard(agent: CardAgent, options: CardOptions): AgentCard {
  return withSkills(agent, options, toPublicSkills(agent.config, agent.tools.list()))
}

/** The card for one caller: tools with their descriptions, and the caller's sub-agents, as far as the key may read them. */
export async function toExtendedCard(
  agent: CardAgent,
  options: CardOptions & { principal: Principal; subAgents: Pick<SubAgents, 'list'> },
): Promise<AgentCard> {
  const { principal, subAgents } = options
  const listings = agent.tools.list()
  const skills = permits(principal, ['tools.read']) ? toDescribedSkills(agent.config, listings) : toPublicSkills(agent.config, listings)
  const own = permits(principal, ['sub_agents.read']) ? await subAgents.list(principal) : []
  return withSkills(agent, options, [...skills, ...own.map(toSubAgentSkill)])
}

function withSkills({ config, model }: CardAgent, { version, address }: CardOptions, skills: AgentSkill[]): AgentCard {
  const { name, description } = config
  const toInterface = (protocolBinding: string, path: string, protocolVersion: string = A2A_PROTOCOL_VERSION) => {
    return { url: address() + path, protocolBinding, tenant: '', protocolVersion }
  }
  return {
    name,
    description,
    version,
    supportedInterfaces: [
      toInterface('JSONRPC', '/a2a'),
      toInterface('HTTP+JSON', httpPath),
      toInterface('JSONRPC', '/a2a', legacyVersion),
    ],
    provider: undefined,
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true, extensions: [chatOptionsExtension] },
    securitySchemes: {
      key: { scheme: { $case: 'apiKeySecurityScheme', value: { description: '', location: 'header', name: 'x-service-access' } } },
      bearer: { scheme: { $case: 'httpAuthSecurityScheme', value: { description: '', scheme: 'Bearer', bearerFormat: 'JWT' } } },
    },
    securityRequirements: [{ schemes: { key: { list: [] } } }, { schemes: { bearer: { list: [] } } }],
    defaultInputModes: inputModesOf(model),
    defaultOutputModes: ['text/plain', 'application/json'],
    skills,
    signatures: [],
  }
}
