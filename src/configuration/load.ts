import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { parseAgentConfig } from './parse.ts'
import { ConfigError, problemAt } from './problems.ts'
import type { AgentConfig } from './schema.ts'

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
