import type { ChildProcess } from 'node:child_process'
import { Socket } from 'node:net'
import { FrameReader, writeFrame, type MessageLimits } from './message-frames.ts'

type WriteCallback = (error: Error | null) => void

/**
 * Gives a child process `send`, `connected` and the events `message` and `disconnect` over the pipe at `descriptor`, as Node's own IPC channel does.
 * A process that sends more than `limits` allow is killed before its message is read, and `error` reports the reason: a compromised program
 * cannot fill the service's memory. Messages that are not objects are dropped.
 */
export function openChannel(child: ChildProcess, descriptor: number, limits: MessageLimits): void {
  const pipe = child.stdio?.[descriptor]
  // A process which failed to start has no pipe. The `error` event reports the failure.
  if (!(pipe instanceof Socket)) return

  const reader = new FrameReader((message) => {
    if (typeof message === 'object' && message !== null) child.emit('message', message, undefined)
  }, limits)

  pipe.on('data', (chunk: Buffer) => {
    try {
      reader.push(chunk)
    } catch (error) {
      // Also reached when a `message` listener throws. The process is killed first: a closed pipe could let the process end by itself.
      child.kill('SIGKILL')
      pipe.destroy()
      child.emit('error', error)
    }
  })
  // A closed pipe is reported by `disconnect` and `exit`.
  pipe.on('error', () => undefined)
  pipe.on('close', () => child.emit('disconnect'))

  child.send = (message: unknown, ...rest: unknown[]) => {
    writeFrame(
      pipe,
      message,
      rest.find((argument): argument is WriteCallback => typeof argument === 'function'),
    )
    return true
  }
  Object.defineProperty(child, 'connected', { get: () => !pipe.destroyed, configurable: true })
}
