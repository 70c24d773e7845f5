import type { AgentSkill } from '@a2a-js/sdk'
import type { ToolListing } from '../../agent/tool.ts'
import type { AgentConfig, ToolType } from '../../configuration/schema.ts'

/**
 * What a tool of each type does. The card is public, so a skill never has the tool's own description: that of `data_query` holds values of the
 * data, that of `knowledge_search` headings of documents, and those of `mcp`, `openapi` and `module` are written by others for callers with a key.
 */
const descriptions: Record<ToolType, string> = {
  calculator: 'Evaluates expressions and converts units.',
  current_time: 'Looks up the current date and time.',
  list_files: 'Lists the files that the agent can read.',
  read_file: 'Reads files.',
  write_file: 'Writes text files for download.',
  knowledge_search: 'Searches documents.',
  data_query: 'Queries tables of data.',
  mcp: 'Calls a tool of an MCP server.',
  openapi: 'Calls an operation of an HTTP API.',
  module: 'Calls a custom tool.',
  run_python: 'Runs Python code.',
  chart: 'Draws charts.',
  web_page: 'Reads web pages.',
  http_request: 'Makes HTTP requests.',
}

/** The skills of the agent card: the chat, and each tool by its name. */
export function toSkills({ name, description, conversation_starters: starters, tools }: AgentConfig, listings: readonly ToolListing[]) {
  const chat = toSkill({ id: 'chat', name, description, tags: ['chat'], examples: starters.map((starter) => starter.message) })
  const types = new Map(tools.map((tool) => [tool.name, (tool.type ?? tool.name) as ToolType]))
  const toolSkills = listings.map((listing) => {
    const type = types.get(listing.entry ?? listing.name) ?? 'module'
    return toSkill({ id: `tool:${listing.name}`, name: listing.name, description: descriptions[type], tags: ['tool'] })
  })
  return [chat, ...toolSkills]
}

function toSkill(skill: Pick<AgentSkill, 'id' | 'name' | 'description' | 'tags'> & { examples?: string[] }): AgentSkill {
  return { examples: [], ...skill, inputModes: [], outputModes: [], securityRequirements: [] }
}
