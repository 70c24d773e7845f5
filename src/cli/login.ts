import type { Command } from 'commander'
import { CommandFailure, type CommandContext } from './terminal.ts'

/** Adds commands that log the service in at an MCP server, with the account of a person, and out again. */
export function addLogin(tool: Command, { terminal }: CommandContext): void {
  tool
    .command('login <name>')
    .description('Log in at the MCP server of an entry. All callers of the service then use the account of this login.')
    .option('--port <port>', 'port of 127.0.0.1 for the answer of the authorization server (default: any free port)', toPort)
    .addHelpText('after', '\nWith the browser on another machine, paste the address at which it ends up into this terminal.')
    .action(async (name: string, { port = 0 }: { port?: number }) => (await import('./login-run.ts')).runLogin(terminal, name, port))

  tool
    .command('logout <name>')
    .description('Remove the login at the MCP server of an entry, and revoke its tokens.')
    .action(async (name: string) => (await import('./login-run.ts')).runLogout(terminal, name))
}

function toPort(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new CommandFailure(2, [`--port must be a whole number from 0 to 65535, but is ${JSON.stringify(text)}.`])
}
