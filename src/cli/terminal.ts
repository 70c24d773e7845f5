import type { Readable, Writable } from 'node:stream'
import type { Environment } from '../configuration/references.ts'

/** Environment and streams of the process, for commands. */
export interface Terminal {
  environment: Environment
  cwd: string
  /** How the user starts this program, such as `npx --no-install agent-core`. */
  command: string
  stdin: Readable & { isTTY?: boolean }
  stdout: Writable & { isTTY?: boolean; columns?: number }
  stderr: Writable & { isTTY?: boolean }
  /** Aborted when the process is asked to stop. */
  stopping: AbortSignal
}

/** The exit codes of commands. */
export const exitCodes = {
  0: 'The command has done its work.',
  1: 'The command has failed; standard error says why.',
  2: 'The command line or an environment variable is wrong. Nothing was done.',
} as const

/** Ends a command with this exit code, after these lines on standard error. */
export class CommandFailure extends Error {
  readonly code: 1 | 2
  readonly lines: readonly string[]

  constructor(code: 1 | 2, lines: readonly string[]) {
    super(lines.join('\n'))
    this.code = code
    this.lines = lines
  }
}

export interface CommandContext {
  terminal: Terminal
  version: string
}
