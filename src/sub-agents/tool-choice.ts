import type { Tool, ToolListing } from '../agent/tool.ts'
import type { AgentConfig } from '../configuration/schema.ts'

/** Resolves the names in a sub-agent's list of tools: a tool, or a configured entry with all of its tools. */

type Entries = Pick<AgentConfig, 'tools'>

export function chooseTools(names: readonly string[], tools: readonly Tool[], config: Entries): Tool[] {
  const chosenNames = new Set(names)
  const entries = names.filter((name) => isEntry(name, config)).map((name) => `${name}__`)
  return tools.filter(({ name }) => chosenNames.has(name) || entries.some((prefix) => name.startsWith(prefix)))
}

/**
 * True when a name may be in the list. An entry whose server was never reached has no tool list yet, so any name of the
 * entry is accepted.
 */
export function isChoice(name: string, listings: readonly ToolListing[], config: Entries): boolean {
  if (isEntry(name, config) || listings.some((listing) => listing.name === name)) return true
  return listings.some((listing) => isUnknown(listing) && isEntry(listing.name, config) && name.startsWith(`${listing.name}__`))
}

/** True while some of the named tools are still being made. */
export function isInitializing(names: readonly string[], listings: readonly ToolListing[]): boolean {
  const making = listings.filter(({ status }) => status === 'initializing')
  return making.some((listing) => names.some((name) => name === listing.name || name.startsWith(`${listing.name}__`)))
}

export function isEntry(name: string, { tools }: Entries): boolean {
  return tools.some((entry) => entry.name === name)
}

/** An entry is listed under its own name until its tools are known. */
function isUnknown({ status }: ToolListing): boolean {
  return status !== 'ready'
}
