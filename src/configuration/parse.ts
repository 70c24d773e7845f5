import { hash } from 'node:crypto'
import { checkConfig } from './check.ts'
import { ConfigError, type Path, problemAt } from './problems.ts'
import type { AgentConfig } from './schema.ts'
import { readYaml } from './yaml-source.ts'
import { readFile } from 'node:fs/promises'
import path from 'node:path'

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
export function toStableJson(value: unknown): string {
  return JSON.stringify(value, sortKeys)
}

function sortKeys(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Reads and parses the file. Throws `ConfigError`, also for an unreadable file. */
export async function loadAgentConfig(file: string): Promise<AgentConfig> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const problem = error.code === 'ENOENT' ? 'does not exist' : `cannot be read (${error.code ?? 'unknown error'})`
    throw new ConfigError([problemAt([], `${file} ${problem}.`)])
  })
  return parseAgentConfig(text)
}

/** Formats problems for operators, a line each: `agent.yaml:12 tools[2].type: "mpc" is not a known tool type; ...`. */
export function formatProblems(file: string, error: ConfigError): string[] {
  return error.problems.map(({ path: at, message, line }) => {
    const location = `${path.basename(file)}${line === undefined ? '' : `:${line}`}`
    return at ? `${location} ${at}: ${message}` : `${location}: ${message}`
  })
}
