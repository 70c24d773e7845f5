import type { ChildProcess } from 'node:child_process'
import { Socket } from 'node:net'
import { FrameReader, writeFrame, type MessageLimits } from './message-frames.ts'

type Done = (error: Error | null) => void

/**
 * Gives a child process `send`, `connected` and the events `message` and `disconnect`, as Node's own channel does, over its descriptor 3. A process
 * that sends more than the limits allow is killed, before its message is read, and `error` says why: whatever its program has become, it can not make the
 * service hold more. Messages that are no objects are left out.
 */
export function openChannel(child: ChildProcess, descriptor: number, limits: MessageLimits): void {
  const pipe = child.stdio?.[descriptor]
  // A process that could not be started has none, and says so by `error`.
  if (!(pipe instanceof Socket)) return

  const reader = new FrameReader((message) => {
    if (typeof message === 'object' && message !== null) child.emit('message', message, undefined)
  }, limits)

  pipe.on('data', (chunk: Buffer) => {
    try {
      reader.push(chunk)
    } catch (error) {
      // Also where a listener can not make anything of the message.
      pipe.destroy()
      child.kill('SIGKILL')
      child.emit('error', error)
    }
  })
  // The other end is closed: `disconnect` and `exit` say so.
  pipe.on('error', () => undefined)
  pipe.on('close', () => child.emit('disconnect'))

  child.send = (message: unknown, ...rest: unknown[]) => {
    writeFrame(
      pipe,
      message,
      rest.find((one): one is Done => typeof one === 'function'),
    )
    return true
  }
  Object.defineProperty(child, 'connected', { get: () => !pipe.destroyed, configurable: true })
}
