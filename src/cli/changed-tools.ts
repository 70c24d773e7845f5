import type { Command } from 'commander'
import { acceptChangedTools, listChangedTools } from '../configuration/tool-pins/changed-tools.ts'
import type { Definition, PinStore } from '../configuration/tool-pins/pin-store.ts'
import { openDatabase } from '../store/open.ts'
import { createPinStore } from '../store/tool-pins.ts'
import { readSettings } from './prepare.ts'
import { CommandFailure, type CommandContext, type Terminal } from './terminal.ts'

/** Adds commands for MCP tools that are disabled because the server changed their definition. A running service picks up acceptances. */
export function addChangedTools(tool: Command, { terminal }: CommandContext): void {
  const print = (line: string) => terminal.stdout.write(`${line}\n`)

  tool
    .command('changed')
    .description('Show each tool of an MCP server with pin: true that has changed, with the accepted and the current definition.')
    .action(async () => {
      const changed = await withPins(terminal, listChangedTools)
      for (const tool of changed) {
        print(tool.name)
        for (const line of [...describe('accepted', tool.accepted), ...describe('now', tool.changed), 'changes:']) print(`  ${line}`)
        for (const line of tool.changes) print(`    ${line}`)
      }
      if (changed.length === 0) print('No tool has changed.')
    })

  tool
    .command('accept <name>')
    .description(
      'Accept the current definition of a tool (<entry>__<tool>) or of all tools of an entry. All running replicas use it within 5 s.',
    )
    .action(async (name: string) => {
      const accepted = await withPins(terminal, (pins) => acceptChangedTools(pins, name))
      if (accepted.length === 0) {
        throw new CommandFailure(1, [`No tool of ${JSON.stringify(name)} has changed. "agent-core tool changed" lists the changed tools.`])
      }
      for (const tool of accepted) print(`Accepted ${tool.name}.`)
    })
}

async function withPins<T>(terminal: Terminal, use: (pins: PinStore) => Promise<T>): Promise<T> {
  const database = await openDatabase(readSettings(terminal))
  try {
    return await use(createPinStore(database))
  } finally {
    await database.close()
  }
}

function describe(label: string, { hash, at, description, schema }: Definition): string[] {
  return [`${label} (${hash}, seen ${at}):`, ...description.split('\n').map((line) => `  ${line}`), `  ${JSON.stringify(schema)}`]
}
