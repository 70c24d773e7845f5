import { isDeepStrictEqual } from 'node:util'
import { toAgentConfig } from './parse.ts'
import type { AgentConfig } from './schema.ts'

/** Fields that are taken, so that a file need not change with a later version, but that this one does nothing with. */
const later: Record<string, (config: AgentConfig) => unknown> = {
  sub_agents: ({ sub_agents }) => sub_agents,
}

/** A line for each field that somebody has set in vain. */
export function findWithoutEffect(config: AgentConfig): string[] {
  const defaults = toAgentConfig({ llms: { primary: { provider: 'embedded', model: 'rules-1' } } })
  return Object.entries(later)
    .filter(([, read]) => !isDeepStrictEqual(read(config), read(defaults)))
    .map(([field]) => `${field} has no effect in this version.`)
}
