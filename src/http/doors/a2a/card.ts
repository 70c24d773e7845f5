import { A2A_PROTOCOL_VERSION, A2A_VERSION_HEADER, AgentCard, type AgentSkill } from '@a2a-js/sdk'
import type { FastifyRequest } from 'fastify'
import { permits, type Principal } from '../../../access/permissions.ts'
import type { ToolListing } from '../../../agent/tool.ts'
import type { Agent } from '../../../configuration/agent.ts'
import type { AgentConfig } from '../../../configuration/schema.ts'
import { toolTypes, type ToolType } from '../../../configuration/tool-types.ts'
import { fieldsOf } from '../../../json/shape.ts'
import type { SubAgent } from '../../../sub-agents/sub-agent-store.ts'
import type { SubAgents } from '../../../sub-agents/sub-agents.ts'
import { chatOptionsExtension, inputModesOf } from './message.ts'

/** A2A 0.3 over JSON-RPC: its clients call the same operations under other names, and read the same card. */
export const legacyVersion = '0.3'

/** A2A 1.0, 3.6.2: a request without the header has version 0.3. */
export function versionOf({ headers }: FastifyRequest): string {
  return String(headers[A2A_VERSION_HEADER.toLowerCase()] ?? '') || legacyVersion
}

export interface CardOptions {
  version: string
  /** The public URL of the service, without a trailing slash. */
  address(): string
}

/** The path of the HTTP+JSON binding, below which the routes of the specification are. */
const httpPath = '/a2a/v1'

type CardAgent = Pick<Agent, 'config' | 'tools' | 'model' | 'skills'>

/** The public agent card. The card names tools without their own descriptions, which may quote data. */
export function toCard(agent: CardAgent, options: CardOptions): AgentCard {
  return withSkills(agent, options, toPublicSkills(agent.config, listingsOf(agent)))
}

/** The card for one caller: tools and skills with their descriptions, and the caller's sub-agents, as far as the key may read them. */
export async function toExtendedCard(
  agent: CardAgent,
  options: CardOptions & { principal: Principal; subAgents: Pick<SubAgents, 'list'> },
): Promise<AgentCard> {
  const { principal, subAgents } = options
  const skills = permits(principal, ['tools.read']) ? toDescribedSkills(agent) : toPublicSkills(agent.config, listingsOf(agent))
  const own = permits(principal, ['sub_agents.read']) ? await subAgents.list(principal) : []
  return withSkills(agent, options, [...skills, ...own.map(toSubAgentSkill)])
}

/** The agent card as JSON. A request of version 1.0 gets the fields of 1.0 alone, since its reader may refuse others. */
export function cardOf(agent: Agent, options: CardOptions, request: FastifyRequest): unknown {
  const card = AgentCard.toJSON(toCard(agent, options))
  return versionOf(request) === legacyVersion ? withLegacyFields(card) : card
}

/** The card with the interfaces of the current version. */
export function currentCard(card: AgentCard): AgentCard {
  return { ...card, supportedInterfaces: card.supportedInterfaces.filter(({ protocolVersion }) => protocolVersion !== legacyVersion) }
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

/** Adds the fields of a card of version 0.3. Readers of either version ignore the fields of the other. */
function withLegacyFields(card: unknown): object {
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

/** The skills of the public card: the chat, and one skill for each tool with the text of the tool's type. */
function toPublicSkills(config: AgentConfig, listings: readonly ToolListing[]): AgentSkill[] {
  const types = new Map(config.tools.map((tool) => [tool.name, (tool.type ?? tool.name) as ToolType]))
  const descriptionOf = ({ name, entry }: ToolListing) => toolTypes[types.get(entry ?? name) ?? 'module'].skill
  return [toChatSkill(config), ...listings.map((listing) => toToolSkill(listing, descriptionOf(listing)))]
}

/** The skills for callers who may read the tools: the chat, one skill for each tool with its own description, and the skills of the agent. */
function toDescribedSkills(agent: CardAgent): AgentSkill[] {
  const tools = listingsOf(agent).map((listing) => toToolSkill(listing, listing.description))
  const skills = (agent.skills?.skills ?? []).map(({ name, description }) => {
    return toSkill({ id: `skill:${name}`, name, description, tags: ['skill'] })
  })
  return [toChatSkill(agent.config), ...tools, ...skills]
}

/** The tools, without the tools that load the skills of the agent. */
function listingsOf({ tools }: CardAgent): readonly ToolListing[] {
  return tools.list().filter(({ tool }) => tool?.isAlwaysAllowed !== true)
}

function toSubAgentSkill({ id, name, description, objective }: SubAgent): AgentSkill {
  return toSkill({ id: `sub_agent:${id}`, name, description: description || objective, tags: ['sub-agent'] })
}

function toChatSkill({ name, description, conversation_starters: starters }: AgentConfig): AgentSkill {
  return toSkill({ id: 'chat', name, description, tags: ['chat'], examples: starters.map((starter) => starter.message) })
}

function toToolSkill({ name }: ToolListing, description: string): AgentSkill {
  return toSkill({ id: `tool:${name}`, name, description, tags: ['tool'] })
}

function toSkill(skill: Pick<AgentSkill, 'id' | 'name' | 'description' | 'tags'> & { examples?: string[] }): AgentSkill {
  return { examples: [], ...skill, inputModes: [], outputModes: [], securityRequirements: [] }
}
