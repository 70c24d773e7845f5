import { readFile } from 'node:fs/promises'
import { Command, CommanderError } from 'commander'
import { addChat } from './chat.ts'
import { addConfig } from './config.ts'
import { addDb } from './db.ts'
import { addDoctor } from './doctor.ts'
import { addKeys } from './keys.ts'
import { addServe } from './serve.ts'
import { addTool } from './tool.ts'
import { CommandFailure, type Terminal } from './terminal.ts'

/** Runs one command line; answers with the exit code: 0 done, 1 failed, 2 wrong usage or settings. */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  const context = { terminal, version: await readVersion() }
  const program = new Command('agent-core')
    .description('One configured AI agent behind HTTP.')
    .version(context.version)
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.stdout.write(text), writeErr: (text) => terminal.stderr.write(text) })
  for (const add of [addServe, addChat, addKeys, addConfig, addDb, addTool, addDoctor]) add(program, context)
  try {
    await program.parseAsync([...args], { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const known = error instanceof CommandFailure
    const lines = known ? error.lines : [error instanceof Error ? error.message : String(error)]
    for (const line of lines) terminal.stderr.write(`${line}\n`)
    return known ? error.code : 1
  }
}

async function readVersion(): Promise<string> {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
