import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { kill } from 'node:process'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

/** A command to start. `env` is the whole environment: nothing is inherited from the service. */
export interface Launch {
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
  cwd: string
}

/** A running command, with all child processes that stay in its process group. */
export interface CommandProcess {
  stdin: Writable
  stdout: Readable
  stderr: Readable
  /** Resolves with the way the command ended, as a sentence, after its whole process group has ended. */
  ended: Promise<string>
  /** Closes the standard input, then sends SIGTERM, then SIGKILL. Resolves when the command has ended. */
  close(): Promise<void>
}

/**
 * Starts the command beside a watcher shell in the same process group. The watcher reads a pipe that the service never writes to: the
 * pipe ends when the service exits in any way, and the watcher then ends the group. The command itself need not notice the exit.
 */
const guardScript = `(trap '' TERM; read -r _ <&3; kill -s TERM -- -$$; sleep 1; kill -s KILL -- -$$) </dev/null >/dev/null 2>&1 &
exec "$@" 3<&-`

/** Milliseconds between the steps of `close`. */
const graceMs = 500

/** Rejects when the shell cannot be started; a command that does not exist is reported by `ended`. */
export async function startCommand({ command, args, env, cwd }: Launch): Promise<CommandProcess> {
  const child = spawn('/bin/sh', ['-c', guardScript, 'sh', command, ...args], {
    env,
    cwd,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  }) as ChildProcessByStdio<Writable, Readable, Readable>
  let isGone = false
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      isGone = true
      // The group id cannot have been reused: the watcher shell still belongs to the group.
      killGroup(child.pid, 'SIGKILL')
      resolve(toWords(command, code, signal))
    })
  })
  // A write to a process that has just ended fails; the end of the process is reported by `ended`.
  for (const stream of child.stdio) stream?.on('error', () => {})
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', () => resolve())
    child.once('error', (error) => reject(new Error(`The command cannot be started: ${error.message}`, { cause: error })))
  })

  async function close(): Promise<void> {
    child.stdin.end()
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await Promise.race([ended, sleep(graceMs, undefined, { ref: false })])
      if (isGone) break
      killGroup(child.pid, signal)
    }
    await ended
  }

  return { stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, ended, close }
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    kill(-pid, signal)
  } catch {
    // The group has no process any more.
  }
}

/** Exit codes of a POSIX shell that cannot run a command. */
const notFound = 127
const notExecutable = 126

function toWords(command: string, code: number | null, signal: NodeJS.Signals | null): string {
  if (code === notFound) return `The command ${command} was not found.`
  if (code === notExecutable) return `The command ${command} cannot be executed.`
  return signal === null ? `The command ended with exit code ${code}.` : `The command was ended by ${signal}.`
}
