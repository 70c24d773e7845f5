import { ownToolNames } from '../../agent/tool-names.ts'
import type { AgentConfig } from '../../configuration/schema.ts'
import type { Skill } from '../../configuration/skills/skill.ts'

/** Names that a list may have. `Bash(git:*)` names no tool here, since arguments of calls are not compared. */
const toolPattern = /^[A-Za-z0-9_][A-Za-z0-9_.:-]*$/

/** The names in a list that can be names of tools. */
export function namesIn(allowedTools: readonly string[]): string[] {
  return allowedTools.filter((name) => toolPattern.test(name))
}

/** A line for each name in `allowed-tools` that is no tool of the configuration: such a name allows nothing. */
export function findUnknownTools({ name: skill, allowedTools = [] }: Skill, { tools }: Pick<AgentConfig, 'tools'>): string[] {
  const isKnown = (name: string) =>
    ownToolNames.has(name) ||
    name.startsWith('sub_agent:') ||
    tools.some((entry) => name === entry.name || name.startsWith(`${entry.name}__`))
  return allowedTools
    .filter((name) => !toolPattern.test(name) || !isKnown(name))
    .map(
      (name) =>
        `skills[${skill}]: allowed-tools names ${JSON.stringify(name.slice(0, maxShown))}, which is no tool of agent.yaml and allows nothing`,
    )
}

const maxShown = 100
