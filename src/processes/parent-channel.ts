import process from 'node:process'
import { isMainThread } from 'node:worker_threads'
import { createSend, FrameReader } from './message-frames.ts'

/**
 * Preload script of every process that `startLimited` starts. Gives the process `send`, `connected` and the events `message` and `disconnect`,
 * as Node's IPC channel does. Node's own channel is not used because the service would read messages of any size from it.
 */

const descriptor = 3

if (isMainThread) {
  // Child processes of the program must not inherit the preload script: they have no such channel.
  process.execArgv = process.execArgv.filter((flag) => !flag.includes('/parent-channel.'))
  await connect()
}

/** Opens the process's end of the channel that `startLimited` opens in the service. Messages wait for the first listener. */
async function connect(): Promise<void> {
  // Imported in the main thread only: worker threads lack the permission that sockets need.
  const { Socket } = await import('node:net')
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
  process.send = createSend(socket)
  process.disconnect = () => void socket.destroy()
  Object.defineProperty(process, 'connected', { get: () => !socket.destroyed, configurable: true })
}
