import { hash } from 'node:crypto'
import { checkConfig } from './check.ts'
import { ConfigError, type Path } from './problems.ts'
import type { AgentConfig } from './schema.ts'
import { readYaml } from './yaml-source.ts'

/** Parses agent.yaml and fills in all defaults. Throws `ConfigError` with every fault, its path and its line. */
export function parseAgentConfig(text: string): AgentConfig {
  const { value, lineOf } = readYaml(text)
  return toAgentConfig(value, lineOf)
}

/** The same for plain data, such as the result of a merge. */
export function toAgentConfig(value: unknown, lineOf: (at: Path) => number | undefined = () => undefined): AgentConfig {
  const { config, problems } = checkConfig(value)
  if (problems.length === 0) return config
  const placed = problems.map((problem) => ({ ...problem, line: lineOf(problem.at) }))
  throw new ConfigError(placed.sort((a, b) => (a.line ?? 0) - (b.line ?? 0)))
}

/** 16 hex digits that change with the content, and not with the order of keys. */
export function configVersion(config: AgentConfig): string {
  return hash('sha256', toStableJson(config)).slice(0, 16)
}

/** The same text for values that differ in the order of their keys alone. */
export function toStableJson(value: object): string {
  return JSON.stringify(value, sortKeys)
}

function sortKeys(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
