import path from 'node:path'
import type { Command } from 'commander'
import { acceptChangedTools, listChangedTools, type Definition } from '../tools/mcp/pins.ts'
import { readSettings } from './prepare.ts'
import { CommandFailure, type CommandContext } from './terminal.ts'

/** Tools of MCP servers that are not used because what the server says of them has changed: beside a running service, which takes it up. */
export function addChangedTools(tool: Command, { terminal }: CommandContext): void {
  const say = (line: string) => terminal.stdout.write(`${line}\n`)
  const cacheDir = () => path.join(readSettings(terminal).dataDir, 'cache')

  tool
    .command('changed')
    .description('Show each tool of an MCP server with pin: true that has changed: what was accepted of it, and what is said now.')
    .action(async () => {
      const changed = await listChangedTools(cacheDir())
      for (const tool of changed) {
        say(tool.name)
        for (const line of [...describe('accepted', tool.accepted), ...describe('now', tool.changed)]) say(`  ${line}`)
      }
      if (changed.length === 0) say('No tool has changed.')
    })

  tool
    .command('accept <name>')
    .description('Accept what a server says of a tool (<entry>__<tool>), or of all of an entry; a running service uses it within 5 s.')
    .action(async (name: string) => {
      const accepted = await acceptChangedTools(cacheDir(), name)
      if (accepted.length === 0) {
        throw new CommandFailure(1, [`Nothing has changed of ${JSON.stringify(name)}; "agent-core tool changed" shows what has.`])
      }
      for (const one of accepted) say(`Accepted ${one}.`)
    })
}

function describe(label: string, { hash, at, description, schema }: Definition): string[] {
  return [`${label} (${hash}, seen ${at}):`, ...description.split('\n').map((line) => `  ${line}`), `  ${JSON.stringify(schema)}`]
}
