import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { WorkerProcess } from './processes.ts'

/** Listens for all workers, and passes each connection to a worker. */
export interface Connections {
  /** The bound port. */
  port: number
  /** Adds a worker that accepts connections. */
  join(worker: WorkerProcess): void
  /** Stops passing connections to a worker. */
  leave(worker: WorkerProcess): void
  /** Records that a worker has received the connection passed to it. */
  acknowledge(worker: WorkerProcess): void
  /** Removes an exited worker. A passed connection without an acknowledgement is passed to another worker. */
  remove(worker: WorkerProcess): void
  /** Accepts no more connections; waiting connections still get a worker. */
  close(): void
}

/** Length of the accept queue, so that bursts of connections are not refused. */
const backlog = 8192
/** Limit of connections that wait while all workers are busy or starting. */
const maxWaiting = 8192

/**
 * Passes connections in turn to workers that have acknowledged their last connection, so a busy worker gets fewer. The kernel would give
 * most connections of a burst to one process, and a stream stays with its connection. Throws if the port cannot be bound.
 */
export async function openConnections({ host, port }: { host: string; port: number }): Promise<Connections> {
  const free: WorkerProcess[] = []
  const unacknowledged = new Map<WorkerProcess, Socket>()
  const joined = new Set<WorkerProcess>()
  const waiting: Socket[] = []

  function passWaiting(): void {
    while (free.length > 0 && waiting.length > 0) {
      const worker = free.shift()!
      const socket = waiting.shift()!
      // The client may have disconnected meanwhile.
      if (socket.destroyed) {
        free.unshift(worker)
        continue
      }
      unacknowledged.set(worker, socket)
      worker.passConnection(socket)
    }
  }

  function take(socket: Socket): void {
    socket.on('error', () => socket.destroy())
    if (waiting.length >= maxWaiting) return void socket.destroy()
    waiting.push(socket)
    passWaiting()
  }

  function leave(worker: WorkerProcess): void {
    joined.delete(worker)
    const index = free.indexOf(worker)
    if (index >= 0) free.splice(index, 1)
  }

  const server = createServer({ pauseOnConnect: true, noDelay: true, allowHalfOpen: true }, take)
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen({ host, port, backlog }, resolve))
  return {
    port: (server.address() as AddressInfo).port,
    join(worker) {
      joined.add(worker)
      free.push(worker)
      passWaiting()
    },
    leave,
    acknowledge(worker) {
      // The worker has its own handle, so this handle can be closed.
      unacknowledged.get(worker)?.destroy()
      unacknowledged.delete(worker)
      if (joined.has(worker)) free.push(worker)
      passWaiting()
    },
    remove(worker) {
      leave(worker)
      const socket = unacknowledged.get(worker)
      unacknowledged.delete(worker)
      if (socket) waiting.unshift(socket)
      passWaiting()
    },
    close: () => void server.close(),
  }
}
