import path from 'node:path'
import type { Command } from 'commander'
import { acceptChangedTools, listChangedTools, type Definition } from '../tools/mcp/pins.ts'
import { readSettings } from './prepare.ts'
import { CommandFailure, type CommandContext } from './terminal.ts'

/** Adds commands for MCP tools that are disabled because the server changed their definition. A running service picks up acceptances. */
export function addChangedTools(tool: Command, { terminal }: CommandContext): void {
  const print = (line: string) => terminal.stdout.write(`${line}\n`)
  const cacheDir = () => path.join(readSettings(terminal).dataDir, 'cache')

  tool
    .command('changed')
    .description('Show each tool of an MCP server with pin: true that has changed, with the accepted and the current definition.')
    .action(async () => {
      const changed = await listChangedTools(cacheDir())
      for (const tool of changed) {
        print(tool.name)
        for (const line of [...describe('accepted', tool.accepted), ...describe('now', tool.changed)]) print(`  ${line}`)
      }
      if (changed.length === 0) print('No tool has changed.')
    })

  tool
    .command('accept <name>')
    .description(
      'Accept the current definition of a tool (<entry>__<tool>) or of all tools of an entry. A running service uses it within 5 s.',
    )
    .action(async (name: string) => {
      const accepted = await acceptChangedTools(cacheDir(), name)
      if (accepted.length === 0) {
        throw new CommandFailure(1, [`No tool of ${JSON.stringify(name)} has changed. "agent-core tool changed" lists the changed tools.`])
      }
      for (const toolName of accepted) print(`Accepted ${toolName}.`)
    })
}

function describe(label: string, { hash, at, description, schema }: Definition): string[] {
  return [`${label} (${hash}, seen ${at}):`, ...description.split('\n').map((line) => `  ${line}`), `  ${JSON.stringify(schema)}`]
}
