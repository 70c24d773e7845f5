import { hash } from 'node:crypto'
import { checkConfig } from './check.ts'
import { ConfigError, type Path } from './problems.ts'
import type { AgentConfig } from './schema.ts'
import { readYaml } from './yaml-source.ts'

/** Parses agent.yaml and fills in all defaults. Throws `ConfigError` with every fault, path and line. */
export function parseAgentConfig(text: string): AgentConfig {
  const { value, lineOf } = readYaml(text)
  return toAgentConfig(value, lineOf)
}

/** Checks plain data, such as the result of a merge, and fills in all defaults. Throws `ConfigError`. */
export function toAgentConfig(value: unknown, lineOf: (at: Path) => number | undefined = () => undefined): AgentConfig {
  const { config, problems } = checkConfig(value)
  if (problems.length === 0) return config
  const placed = problems.map((problem) => ({ ...problem, line: lineOf(problem.at) }))
  throw new ConfigError(placed.sort((a, b) => (a.line ?? 0) - (b.line ?? 0)))
}

/** A hash of the content (16 hex digits) that does not depend on the order of keys. */
export function configVersion(config: AgentConfig): string {
  return hash('sha256', toStableJson(config)).slice(0, 16)
}

/** JSON with sorted keys. */
export function toStableJson(value: object): string {
  return JSON.stringify(value, sortKeys)
}

function sortKeys(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
