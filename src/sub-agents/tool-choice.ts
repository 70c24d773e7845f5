import type { Tool, ToolListing } from '../agent/tool.ts'
import type { AgentConfig } from '../configuration/schema.ts'

/** What the names in a sub-agent's list of tools stand for: a tool, or an entry of the configuration with all tools that it has. */

type Entries = Pick<AgentConfig, 'tools'>

export function chooseTools(names: readonly string[], tools: readonly Tool[], config: Entries): Tool[] {
  const wanted = new Set(names)
  const entries = names.filter((name) => isEntry(name, config)).map((name) => `${name}__`)
  return tools.filter(({ name }) => wanted.has(name) || entries.some((prefix) => name.startsWith(prefix)))
}

/** Whether a name may be in the list. What an entry has that was never reached, because its server is down for instance, nobody knows. */
export function isChoice(name: string, listings: readonly ToolListing[], config: Entries): boolean {
  if (isEntry(name, config) || listings.some((listing) => listing.name === name)) return true
  return listings.some((listing) => isUnknown(listing) && isEntry(listing.name, config) && name.startsWith(`${listing.name}__`))
}

/** Whether some of it is still being made. */
export function isInitializing(names: readonly string[], listings: readonly ToolListing[]): boolean {
  const making = listings.filter(({ status }) => status === 'initializing')
  return making.some((listing) => names.some((name) => name === listing.name || name.startsWith(`${listing.name}__`)))
}

export function isEntry(name: string, { tools }: Entries): boolean {
  return tools.some((entry) => entry.name === name)
}

/** An entry is listed under its own name until it is known what tools it has. */
function isUnknown({ status }: ToolListing): boolean {
  return status !== 'ready'
}
