import type { AgentSkill } from '@a2a-js/sdk'
import type { ToolListing } from '../../agent/tool.ts'
import type { AgentConfig } from '../../configuration/schema.ts'
import { toolTypes, type ToolType } from '../../configuration/tool-types.ts'

/** The skills of the agent card: the chat, and one skill for each tool. */
export function toSkills({ name, description, conversation_starters: starters, tools }: AgentConfig, listings: readonly ToolListing[]) {
  const chat = toSkill({ id: 'chat', name, description, tags: ['chat'], examples: starters.map((starter) => starter.message) })
  const types = new Map(tools.map((tool) => [tool.name, (tool.type ?? tool.name) as ToolType]))
  const toolSkills = listings.map((listing) => {
    const type = types.get(listing.entry ?? listing.name) ?? 'module'
    return toSkill({ id: `tool:${listing.name}`, name: listing.name, description: toolTypes[type].skill, tags: ['tool'] })
  })
  return [chat, ...toolSkills]
}

function toSkill(skill: Pick<AgentSkill, 'id' | 'name' | 'description' | 'tags'> & { examples?: string[] }): AgentSkill {
  return { examples: [], ...skill, inputModes: [], outputModes: [], securityRequirements: [] }
}
