import process from 'node:process'
import { isMainThread } from 'node:worker_threads'

/**
 * Loaded before the program of a process that `startLimited` starts: it gives the process `send`, `connected` and the events `message` and
 * `disconnect`, as Node's own channel does. Node's channel would have the service read messages of any size.
 */

if (isMainThread) {
  // A process that the program starts by itself has no such channel.
  process.execArgv = process.execArgv.filter((flag) => !flag.includes('/parent-channel.'))
  // Threads are not given what sockets need.
  const { connect } = await import('./parent-socket.ts')
  connect()
}
