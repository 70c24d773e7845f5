import type { Readable, Writable } from 'node:stream'
import type { Environment } from '../configuration/references.ts'
import { existsSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { packageRoot } from '../package-root.ts'

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

/** Writes lines to standard output. */
export function print({ stdout }: Pick<Terminal, 'stdout'>, ...lines: readonly string[]): void {
  for (const line of lines) stdout.write(`${line}\n`)
}

/** Line ends, controls and direction marks as escapes: text of others writes no line of its own to the terminal. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (mark) => `\\u{${mark.codePointAt(0)!.toString(16)}}`)
}

/** Formats rows as aligned columns. Each column is as wide as its widest cell. */
export function formatTable(rows: readonly (readonly string[])[]): string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: columns }, (_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** How this process was started. */
interface Invocation {
  /** The second word of the process's command line: path of the program, without resolving links. */
  script: string
  cwd: string
  /** The variable PATH. */
  searchPath: string | undefined
}

/**
 * The command with which the user starts this program again in the same folder: `agent-core` where a shell finds it, `npx --no-install
 * agent-core` in a checkout and where the package is installed, otherwise with the path of the program. Without `--no-install`, npx would
 * fetch a package of this name from the registry where none is installed.
 */
export function findOwnCommand({ script, cwd, searchPath = '' }: Invocation): string {
  const folder = path.dirname(script)
  const isLinked = path.basename(script) === 'agent-core'
  // npx puts the folders of a project's own programs on the path.
  const isProjectFolder = path.basename(folder) === '.bin'
  if (isLinked && !isProjectFolder && searchPath.split(path.delimiter).includes(folder)) return 'agent-core'
  if (isInstalledFor(cwd)) return 'npx --no-install agent-core'
  return isLinked ? script : `node ${path.join(packageRoot, 'bin/agent-core.mjs')}`
}

/** Replaces the name of the program in quoted commands, such as "agent-core serve", by the command of the user. */
export function withOwnCommand(text: string, command: string): string {
  return text.replaceAll(/"agent-core (?=[a-z])/g, `"${command} `)
}

/** True if npx finds this package from a folder: npx looks in the nearest folder that has package.json or node_modules. */
function isInstalledFor(folder: string): boolean {
  const isProject = ['package.json', 'node_modules'].some((name) => existsSync(path.join(folder, name)))
  if (!isProject) return path.dirname(folder) !== folder && isInstalledFor(path.dirname(folder))
  return [folder, path.join(folder, 'node_modules/agent-core')].some((place) => existsSync(place) && realpathSync(place) === packageRoot)
}
