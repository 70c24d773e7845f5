import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { parseAgentConfig } from './parse.ts'
import { ConfigError, problemAt } from './problems.ts'
import type { AgentConfig } from './schema.ts'

/** Reads and parses the file. Throws `ConfigError`, also where the file can't be read. */
export async function loadAgentConfig(file: string): Promise<AgentConfig> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const why = error.code === 'ENOENT' ? 'does not exist' : `can't be read (${error.code ?? 'unknown error'})`
    throw new ConfigError([problemAt([], `${file} ${why}.`)])
  })
  return parseAgentConfig(text)
}

/** One line per problem, as an operator reads it: `agent.yaml:12 tools[2].type: "mpc" is not known; known are ...`. */
export function formatProblems(file: string, error: ConfigError): string[] {
  return error.problems.map(({ path: at, message, line }) => {
    const place = `${path.basename(file)}${line === undefined ? '' : `:${line}`}`
    return at ? `${place} ${at}: ${message}` : `${place}: ${message}`
  })
}
