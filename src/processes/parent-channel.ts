import process from 'node:process'
import { isMainThread } from 'node:worker_threads'

/**
 * Preload script of every process that `startLimited` starts. Gives the process `send`, `connected` and the events `message` and `disconnect`,
 * as Node's IPC channel does. Node's own channel is not used because the service would read messages of any size from it.
 */

if (isMainThread) {
  // Child processes of the program must not inherit the preload script: they have no such channel.
  process.execArgv = process.execArgv.filter((flag) => !flag.includes('/parent-channel.'))
  // Imported in the main thread only: worker threads lack the permission that sockets need.
  const { connect } = await import('./parent-socket.ts')
  connect()
}
