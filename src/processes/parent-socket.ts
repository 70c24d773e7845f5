import { Socket } from 'node:net'
import process from 'node:process'
import { FrameReader, writeFrame } from './message-frames.ts'

const descriptor = 3

type WriteCallback = (error: Error | null) => void

/** Opens the process's end of the channel that `openChannel` opens in the service. Messages wait for the first listener. */
export function connect(): void {
  const socket = new Socket({ fd: descriptor, readable: true, writable: true })
  const early: unknown[] = []

  function deliver(message: unknown): void {
    if (process.listenerCount('message') > 0) process.emit('message', message, undefined)
    else early.push(message)
  }

  const reader = new FrameReader(deliver)
  socket.on('data', (chunk: Buffer) => reader.push(chunk))
  // `disconnect` reports the end of the service.
  socket.on('error', () => undefined)
  socket.on('close', () => process.emit('disconnect'))
  process.on('newListener', (name) => {
    if (name === 'message') process.nextTick(() => early.splice(0).forEach(deliver))
  })
  process.send = (message: unknown, ...rest: unknown[]) => {
    writeFrame(
      socket,
      message,
      rest.find((argument): argument is WriteCallback => typeof argument === 'function'),
    )
    return true
  }
  process.disconnect = () => void socket.destroy()
  Object.defineProperty(process, 'connected', { get: () => !socket.destroyed, configurable: true })
}
