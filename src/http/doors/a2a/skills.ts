import type { AgentSkill } from '@a2a-js/sdk'
import type { ToolListing } from '../../../agent/tool.ts'
import type { AgentConfig } from '../../../configuration/schema.ts'
import { toolTypes, type ToolType } from '../../../configuration/tool-types.ts'
import type { SubAgent } from '../../../sub-agents/sub-agent-store.ts'

/** The skills of the public card: the chat, and one skill for each tool with the text of the tool's type. */
export function toPublicSkills(config: AgentConfig, listings: readonly ToolListing[]): AgentSkill[] {
  const types = new Map(config.tools.map((tool) => [tool.name, (tool.type ?? tool.name) as ToolType]))
  const descriptionOf = ({ name, entry }: ToolListing) => toolTypes[types.get(entry ?? name) ?? 'module'].skill
  return [toChatSkill(config), ...listings.map((listing) => toToolSkill(listing, descriptionOf(listing)))]
}

/** The skills for callers who may read the tools: the chat, and one skill for each tool with its own description. */
export function toDescribedSkills(config: AgentConfig, listings: readonly ToolListing[]): AgentSkill[] {
  return [toChatSkill(config), ...listings.map((listing) => toToolSkill(listing, listing.description))]
}

export function toSubAgentSkill({ id, name, description, objective }: SubAgent): AgentSkill {
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
