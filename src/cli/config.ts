import path from 'node:path'
import type { Command } from 'commander'
import { stringify } from 'yaml'
import { formatProblems, loadAgentConfig } from '../configuration/load.ts'
import { ConfigError } from '../configuration/problems.ts'
import { redactConfig } from '../configuration/redact.ts'
import type { AgentConfig } from '../configuration/schema.ts'
import { CommandFailure, type CommandContext } from './terminal.ts'
import { findModelFaults } from '../models/check-models.ts'
import { readSettings } from './prepare.ts'

/** Checks and shows agent.yaml. */
export function addConfig(program: Command, { terminal }: CommandContext): void {
  const config = program.command('config').description('Check and show the configuration of the agent.')
  const say = (line: string) => terminal.stdout.write(`${line}\n`)

  config
    .command('check [file]')
    .description('Check a file (default: the one in use); each problem is a line.')
    .action(async (file?: string) => {
      const whole = file === undefined ? readSettings(terminal).agentConfig : path.resolve(terminal.cwd, file)
      const parsed = await load(whole)
      // Not faults of the file: where it will be used the variables may be set.
      for (const fault of findModelFaults(parsed, terminal.environment)) say(`note: as things are, this could not start: ${fault}`)
      say(`ok: ${whole}`)
    })

  config
    .command('show')
    .description('Print the configuration with all defaults, secrets hidden, as YAML.')
    .action(async () => {
      terminal.stdout.write(stringify(redactConfig(await load(readSettings(terminal).agentConfig)), { lineWidth: 0 }))
    })
}

async function load(file: string): Promise<AgentConfig> {
  try {
    return await loadAgentConfig(file)
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandFailure(1, formatProblems(file, error))
    throw error
  }
}
