import path from 'node:path'
import type { Command } from 'commander'
import { pino } from 'pino'
import { type Tool } from '../../agent/tool.ts'
import { runTool } from '../../agent/run-tool.ts'
import type { JsonObject } from '../../agent/messages.ts'
import { toolDefaults } from '../../tools/builder.ts'
import { createModule } from '../../tools/module/module.ts'
import { addAddTool } from './add-tool.ts'
import { addNewTool } from './new-tool.ts'
import type { ServiceOptions } from '../running-service.ts'
import { addServiceCommand, ask } from '../service-command.ts'
import { CommandFailure, type CommandContext, formatTable, print, type Terminal } from '../terminal.ts'
import { isObject, parseJson } from '../../json/shape.ts'
import { commandActing } from '../acting.ts'
import { acceptChangedTools, listChangedTools } from '../../configuration/mcp/changed-tools.ts'
import type { Definition, PinStore } from '../../configuration/mcp/pin-store.ts'
import { createPinStore } from '../../store/configuration/tool-pins.ts'
import { readSettings } from '../prepare.ts'
import { withDatabase } from '../used-configuration.ts'

/** Adds commands that create and try out tools written by the operator. */
export function addTool(program: Command, context: CommandContext): void {
  const { terminal } = context
  const tool = program
    .command('tool')
    .description('Create and check your own tools; accept changed tools of MCP servers, and log in at them.')
  addList(tool, context)

  addChangedTools(tool, context)

  addLogin(tool, context)

  addNewTool(tool, context)

  addAddTool(tool, context)

  tool
    .command('check <file>')
    .description('Load a file and show its tool, or the errors with their lines.')
    .option('--input <json>', 'call the tool once with this input')
    .addHelpText('after', '\nFiles created by the tool are listed, but not stored.')
    .action(async (file: string, { input }: { input?: string }) => checkTool(terminal, path.resolve(terminal.cwd, file), input))
}

/** Adds the command that lists the tools of a running service, with what each means for approvals and containment. */
function addList(tool: Command, { terminal }: CommandContext): void {
  addServiceCommand(
    tool,
    'list',
    'List the tools of a running service: effect, trust, and whether each reads private data or sends text outside.',
  ).action(async (service: ServiceOptions) => {
    const { tools } = await ask(terminal, service, (client) => client.tools.list())
    const rows = tools.map(({ name, status, effect = '', trust = '', private: isPrivate, outbound }) => {
      const flags = [isPrivate, outbound].map((flag) => (flag === undefined ? '' : flag ? 'yes' : 'no'))
      return [name, status, effect, trust, ...flags]
    })
    print(terminal, ...formatTable([['tool', 'status', 'effect', 'trust', 'private', 'outbound'], ...rows]))
  })
}

async function checkTool(terminal: Terminal, file: string, input: string | undefined): Promise<void> {
  const print = (line: string) => terminal.stdout.write(`${line}\n`)
  const parsedInput = input === undefined ? undefined : parseInput(input)
  const log = pino({ level: 'info' }, { write: (text: string) => printModuleOutput(terminal, text) })
  const spec = { name: path.parse(file).name, ...toolDefaults, config: { path: file } }
  const group = await createModule(spec, { configDir: path.dirname(file), environment: terminal.environment, log })
  try {
    const unavailableReason = group.unavailableReason?.()
    if (unavailableReason !== undefined) throw new CommandFailure(1, [unavailableReason])
    for (const tool of group.tools()) {
      print(`ok: ${tool.name} (${tool.effect}${tool.filters ? ', obeys data filters' : ''}): ${tool.description}`)
      print(parsedInput ? await callOnce(tool, parsedInput, terminal.stopping, print) : JSON.stringify(tool.schema, undefined, 2))
    }
  } finally {
    await group.close?.()
  }
}

function parseInput(text: string): JsonObject {
  const value = parseJson(text)
  if (isObject(value)) return value as JsonObject
  throw new CommandFailure(2, ['--input must be a JSON object.'])
}

/** Prints the output of the module. Other log entries are dropped: the command reports their content itself. */
function printModuleOutput(terminal: Terminal, text: string): void {
  const { line } = JSON.parse(text) as { line?: string }
  if (line !== undefined) terminal.stderr.write(`${line}\n`)
}

async function callOnce(tool: Tool, input: JsonObject, signal: AbortSignal, print: (line: string) => void): Promise<string> {
  const fault = await tool.check(input)
  if (fault !== undefined) throw new CommandFailure(1, [`The input does not match the schema: ${fault}`])
  const caller = { tenant: 'default', owner: 'check' }
  const context = { callId: 'check', caller, session: 'check', sessionId: 'check', headers: {}, filters: [], contextFiles: [] }
  const { isError, output, log, durationMs } = await runTool(tool, input, {
    context: { ...context, latestOutput: () => undefined, isWithheld: () => false, restriction: '' },
    async keepArtifact({ name, type, bytes, tool }) {
      print(`file: ${name} (${type}, ${bytes.byteLength} bytes)`)
      return { id: 'check', name, type, size: bytes.byteLength, sha256: '', tool, createdAt: Date.now() }
    },
    signal,
    now: Date.now,
  })
  if (isError) throw new CommandFailure(1, log.split('\n'))
  return `${log}\n${JSON.stringify(output, undefined, 2)}\n${Math.round(durationMs)} ms`
}

/** Adds commands for MCP tools that are disabled because the server changed their definition. A running service picks up acceptances. */
function addChangedTools(tool: Command, { terminal }: CommandContext): void {
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
      const acting = await commandActing(readSettings(terminal))
      const accepted = await withPins(terminal, (pins) => acceptChangedTools(pins, name, acting))
      if (accepted.length === 0) {
        throw new CommandFailure(1, [`No tool of ${JSON.stringify(name)} has changed. "agent-core tool changed" lists the changed tools.`])
      }
      for (const tool of accepted) print(`Accepted ${tool.name}.`)
    })
}

function withPins<T>(terminal: Terminal, use: (pins: PinStore) => Promise<T>): Promise<T> {
  return withDatabase(readSettings(terminal), (database) => use(createPinStore(database)))
}

function describe(label: string, { hash, at, description, schema }: Definition): string[] {
  return [`${label} (${hash}, seen ${at}):`, ...description.split('\n').map((line) => `  ${line}`), `  ${JSON.stringify(schema)}`]
}

/** Adds commands that log the service in at an MCP server, with the account of a person, and out again. */
function addLogin(tool: Command, { terminal }: CommandContext): void {
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
