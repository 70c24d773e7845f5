import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { kill } from 'node:process'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { deserializeMessage, serializeMessage, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client'
import { toLine } from '../plain-text.ts'
import { createPace, readLines } from './bounded-messages.ts'
import { limits, type HideSecrets, type Launch } from './server.ts'

interface StdioTransport extends Transport {
  /** The SDK recognises a stdio transport by the fields `pid` and `stderr`. */
  readonly pid: null
  readonly stderr: null
}

interface StdioEvents {
  hide: HideSecrets
  /** Called with each line of the standard error. */
  onStderr(line: string): void
  /** Called with the reason when the command ended, or had to be ended, before `close`. */
  onEnd(reason: string): void
}

const lastLinesMs = 500

/** Limit for unsent bytes when the server does not read its input. */
const maxUnreadBytes = 16 * 1024 * 1024

/** Transport to a command over standard input and output; a message is a line. */
export function createStdioTransport(launch: Launch, { hide, onStderr, onEnd }: StdioEvents): StdioTransport {
  let running: CommandProcess | undefined
  let isClosing = false
  const finished = Promise.withResolvers<void>()

  const transport: StdioTransport = {
    pid: null,
    stderr: null,
    async start() {
      const started = await startCommand(launch)
      running = started
      void followStderr(started.stderr, hide, onStderr)
      const reading = read(started)
      void started.ended.then(async (reason) => {
        // The last lines of an ended process are still to be read, for a limited time: a detached child may keep the pipe open.
        await Promise.race([reading, sleep(lastLinesMs, undefined, { ref: false })])
        finish(reason)
      })
    },
    async send(message) {
      if (!running || running.stdin.writableEnded) throw new Error('The server is not running.')
      const { stdin } = running
      if (stdin.writableLength > maxUnreadBytes) throw new Error('The server does not read its input.')
      const fault = await new Promise((resolve) => stdin.write(serializeMessage(message), resolve))
      if (!fault) return
      // A pipe breaks shortly before the exit of the process is reported, and the exit gives the reason.
      await Promise.race([finished.promise, sleep(lastLinesMs, undefined, { ref: false })])
      throw new Error('The server no longer reads its input.')
    },
    async close() {
      isClosing = true
      await running?.close()
    },
  }

  async function read(started: CommandProcess): Promise<void> {
    try {
      for await (const line of readLines(started.stdout, { maxBytes: limits.messageBytes, pace: createPace() })) receive(line)
    } catch (error) {
      if (isClosing || !(error instanceof Error) || 'code' in error) return
      finish(error.message)
      await started.close()
    }
  }

  function receive(line: string): void {
    let message: JSONRPCMessage
    try {
      message = deserializeMessage(line)
    } catch {
      // Some servers print log lines to standard output; such lines are ignored.
      return
    }
    transport.onmessage?.(message)
  }

  let isFinished = false
  function finish(reason: string): void {
    if (isFinished) return
    isFinished = true
    finished.resolve()
    if (!isClosing) onEnd(reason)
    transport.onclose?.()
  }

  return transport
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
async function startCommand({ command, args, env, cwd }: Launch) {
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

  /** Closes the standard input, then sends SIGTERM, then SIGKILL. Resolves when the command has ended. */
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

/** A running command, with all child processes that stay in its process group. */
type CommandProcess = Awaited<ReturnType<typeof startCommand>>

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

/** Characters of a line before hiding secrets: longer than the logged part, so that a secret at the cut is still found whole. */
const maxLine = 8 * limits.logLineCharacters
/** Reading rate: back-pressure slows down a server that writes endlessly. */
const bytesPerSecond = 1024 * 1024

/** Logs the standard error of a server line by line, up to a number of lines per minute. Resolves at the end of the stream. */
async function followStderr(stderr: Readable, hide: HideSecrets, log: (line: string) => void): Promise<void> {
  let pending = ''
  let minute = { until: 0, lines: 0 }
  const decoder = new TextDecoder()
  const logLine = (line: string) => {
    if (Date.now() > minute.until) minute = { until: Date.now() + 60_000, lines: 0 }
    if (minute.lines++ < limits.logLinesPerMinute && line.trim() !== '') log(toLine(hide(line), limits.logLineCharacters))
  }
  try {
    for await (const chunk of stderr as AsyncIterable<Buffer>) {
      const lines = (pending + decoder.decode(chunk, { stream: true })).split('\n')
      pending = (lines.pop() ?? '').slice(0, maxLine)
      for (const line of lines) logLine(line.slice(0, maxLine))
      await sleep((chunk.length / bytesPerSecond) * 1000, undefined, { ref: false })
    }
  } catch {
    // The stream ended with the process, in the middle of a read.
  }
  logLine(pending)
}
