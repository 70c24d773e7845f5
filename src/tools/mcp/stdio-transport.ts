import { setTimeout as sleep } from 'node:timers/promises'
import { deserializeMessage, serializeMessage, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client'
import { startCommand, type CommandProcess, type Launch } from './child-process.ts'
import { limits } from './limits.ts'
import { createPace } from './pace.ts'
import { readLines } from './read-lines.ts'
import type { HideSecrets } from './secrets.ts'
import { followStderr } from './stderr-log.ts'

export interface StdioTransport extends Transport {
  /** By these two the SDK knows that it speaks over pipes. */
  readonly pid: null
  readonly stderr: null
}

export interface StdioEvents {
  hide: HideSecrets
  /** A line of its standard error. */
  onStderr(line: string): void
  /** It ended, or had to be ended, without being asked to: why, in words. */
  onEnd(why: string): void
}

const lastLinesMs = 500

/** What waits to be read by a server that does not read. */
const maxUnreadBytes = 16 * 1024 * 1024

/** A server that is started here, and spoken to by its standard input and output: a message is a line. */
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
      void started.ended.then(async (why) => {
        // The last lines of a process that ended are still to be read; one that left its group may hold the pipe open.
        await Promise.race([reading, sleep(lastLinesMs, undefined, { ref: false })])
        finish(why)
      })
    },
    async send(message) {
      if (!running || running.stdin.writableEnded) throw new Error('The server is not running.')
      const { stdin } = running
      if (stdin.writableLength > maxUnreadBytes) throw new Error('The server does not read what it is sent.')
      const fault = await new Promise((resolve) => stdin.write(serializeMessage(message), resolve))
      if (!fault) return
      // A pipe breaks a moment before its process is known to have ended, and that says why.
      await Promise.race([finished.promise, sleep(lastLinesMs, undefined, { ref: false })])
      throw new Error('The server does not listen any more.')
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
      // Some servers print what they should have logged.
      return
    }
    transport.onmessage?.(message)
  }

  let isFinished = false
  function finish(why: string): void {
    if (isFinished) return
    isFinished = true
    finished.resolve()
    if (!isClosing) onEnd(why)
    transport.onclose?.()
  }

  return transport
}
