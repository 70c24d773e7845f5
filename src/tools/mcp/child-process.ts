import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { kill } from 'node:process'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

/** A command as it is started: nothing of the service's environment but what is given. */
export interface Launch {
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
  cwd: string
}

/** A command and all that it starts, as far as that stays in its process group. */
export interface CommandProcess {
  stdin: Writable
  stdout: Readable
  stderr: Readable
  /** How it ended, in words; by then nothing of its group is left. */
  ended: Promise<string>
  /** Asks it by the end of its input to end itself, then tells it to, then kills it. Resolves when it is gone. */
  close(): Promise<void>
}

/**
 * In the group of the command a shell waits for the end of a pipe that nobody writes to: it comes when the service is gone, however it
 * went, and the group is ended. A server need not notice by itself.
 */
const guarded = `(trap '' TERM; read -r _ <&3; kill -s TERM -- -$$; sleep 1; kill -s KILL -- -$$) </dev/null >/dev/null 2>&1 &
exec "$@" 3<&-`

/** How long each of the ways to end takes before the next. */
const graceMs = 500

/** Rejects where it can't be started at all; a command that is not there ends with words for it. */
export async function startCommand({ command, args, env, cwd }: Launch): Promise<CommandProcess> {
  const child = spawn('/bin/sh', ['-c', guarded, 'sh', command, ...args], {
    env,
    cwd,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  }) as ChildProcessByStdio<Writable, Readable, Readable>
  let isGone = false
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      isGone = true
      // The group has its number as long as somebody is in it: the waiting shell is.
      killGroup(child.pid, 'SIGKILL')
      resolve(toWords(command, code, signal))
    })
  })
  // A write to a process that just ended fails; its end is told by `ended`.
  for (const stream of child.stdio) stream?.on('error', () => {})
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', () => resolve())
    child.once('error', (error) => reject(new Error(`The command can't be started: ${error.message}`, { cause: error })))
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
    // Nobody is left in it.
  }
}

/** POSIX: what a shell ends with where it can't run a command. */
const notFound = 127
const notExecutable = 126

function toWords(command: string, code: number | null, signal: NodeJS.Signals | null): string {
  if (code === notFound) return `The command ${command} was not found.`
  if (code === notExecutable) return `The command ${command} can't be executed.`
  return signal === null ? `The command ended with exit code ${code}.` : `The command was ended by ${signal}.`
}
