import { setTimeout as sleep } from 'node:timers/promises'
import { deserializeMessage, serializeMessage, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client'
import { startCommand, type CommandProcess, type Launch } from './child-process.ts'
import { limits } from './limits.ts'
import { createPace } from './pace.ts'
import { readLines } from './read-lines.ts'
import type { HideSecrets } from './secrets.ts'
import { followStderr } from './stderr-log.ts'

export interface StdioTransport extends Transport {
  /** The SDK recognises a stdio transport by the fields `pid` and `stderr`. */
  readonly pid: null
  readonly stderr: null
}

export interface StdioEvents {
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
