import { Socket } from 'node:net'
import process from 'node:process'
import { FrameReader, writeFrame } from './message-frames.ts'

const descriptor = 3

type Done = (error: Error | null) => void

/** Speaks with the service over a descriptor, as `openChannel` does at the other end. Messages wait for the first listener. */
export function connect(): void {
  const socket = new Socket({ fd: descriptor, readable: true, writable: true })
  const early: unknown[] = []

  function hear(message: unknown): void {
    if (process.listenerCount('message') > 0) process.emit('message', message, undefined)
    else early.push(message)
  }

  const reader = new FrameReader(hear)
  socket.on('data', (chunk: Buffer) => reader.push(chunk))
  // A service that is gone is told by `disconnect`.
  socket.on('error', () => undefined)
  socket.on('close', () => process.emit('disconnect'))
  process.on('newListener', (name) => {
    if (name === 'message') process.nextTick(() => early.splice(0).forEach(hear))
  })
  process.send = (message: unknown, ...rest: unknown[]) => {
    writeFrame(
      socket,
      message,
      rest.find((one): one is Done => typeof one === 'function'),
    )
    return true
  }
  process.disconnect = () => void socket.destroy()
  Object.defineProperty(process, 'connected', { get: () => !socket.destroyed, configurable: true })
}
