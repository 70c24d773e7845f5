import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Command, CommanderError } from 'commander'
import { CommandFailure, type CommandContext, type Terminal, withOwnCommand } from './terminal.ts'
import { messageWithCause } from '../errors.ts'
import { packageRoot } from '../package-root.ts'

type AddCommand = (program: Command, context: CommandContext) => void

/** Commands in the order of the help. Each module is imported on demand, which keeps the supervisor of workers small. */
const commands: Record<string, () => Promise<AddCommand>> = {
  init: async () => (await import('./init.ts')).addInit,
  serve: async () => (await import('./serve.ts')).addServe,
  chat: async () => (await import('./chat.ts')).addChat,
  console: async () => (await import('./console.ts')).addConsole,
  keys: async () => (await import('./keys.ts')).addKeys,
  schedules: async () => (await import('./schedules.ts')).addSchedules,
  budgets: async () => (await import('./budgets.ts')).addBudgets,
  eval: async () => (await import('./eval/eval.ts')).addEval,
  config: async () => (await import('./config.ts')).addConfig,
  db: async () => (await import('./db.ts')).addDb,
  audit: async () => (await import('./audit.ts')).addAudit,
  tool: async () => (await import('./tool/tool.ts')).addTool,
  skill: async () => (await import('./skill.ts')).addSkill,
  doctor: async () => (await import('./doctor.ts')).addDoctor,
  demo: async () => (await import('./demo/demo.ts')).addDemo,
}

/** Creates the program with the command of this name, or with all commands. */
export async function createProgram({ terminal, version }: CommandContext, name = ''): Promise<Command> {
  const program = new Command('agent-core')
    .description('One configured AI agent behind HTTP.')
    .version(version)
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.stdout.write(text), writeErr: (text) => terminal.stderr.write(text) })
  const needed = Object.hasOwn(commands, name) ? [commands[name]!] : Object.values(commands)
  for (const load of needed) (await load())(program, { terminal, version })
  return program
}

/** Runs a command line and returns the exit code, see `exitCodes`. */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  const program = await createProgram({ terminal, version: await readVersion() }, args[0])
  try {
    await program.parseAsync([...args], { from: 'user' })
    return 0
  } catch (thrown) {
    const error = causeOf(thrown)
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const isExpected = error instanceof CommandFailure
    const lines = isExpected ? error.lines : [messageWithCause(error)]
    for (const line of lines) terminal.stderr.write(`${withOwnCommand(line, terminal.command)}\n`)
    return isExpected ? error.code : 1
  }
}

/** What ended the command, where its clean-up failed as well. */
function causeOf(thrown: unknown): unknown {
  return thrown instanceof SuppressedError ? causeOf(thrown.suppressed) : thrown
}

async function readVersion(): Promise<string> {
  const text = await readFile(path.join(packageRoot, 'package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
