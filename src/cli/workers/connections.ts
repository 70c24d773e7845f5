import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { WorkerProcess } from './processes.ts'

/** Listens for all workers, and gives each connection to one of them. */
export interface Connections {
  /** As it is bound. */
  port: number
  /** It gets connections from now on. */
  join(worker: WorkerProcess): void
  /** It gets no more. */
  leave(worker: WorkerProcess): void
  /** It has the one that it was given. */
  taken(worker: WorkerProcess): void
  /** It is gone: what it was given and had not begun to read is given to another. */
  lost(worker: WorkerProcess): void
  /** Takes no more; those that wait still get a worker. */
  close(): void
}

/** Connections that come at once are taken, not refused. */
const backlog = 8192
/** While no worker is there, or all are busy. */
const maxWaiting = 8192

/**
 * In turn among the workers that have taken what they were given: who is busy gets fewer. The kernel would give most of those that come
 * together to one process, and streams stay where their connection is. Throws where it can't listen.
 */
export async function openConnections({ host, port }: { host: string; port: number }): Promise<Connections> {
  const free: WorkerProcess[] = []
  const given = new Map<WorkerProcess, Socket>()
  const joined = new Set<WorkerProcess>()
  const waiting: Socket[] = []

  function giveOut(): void {
    while (free.length > 0 && waiting.length > 0) {
      const worker = free.shift()!
      const socket = waiting.shift()!
      // Its client may have gone meanwhile.
      if (socket.destroyed) {
        free.unshift(worker)
        continue
      }
      given.set(worker, socket)
      worker.give(socket)
    }
  }

  function take(socket: Socket): void {
    socket.on('error', () => socket.destroy())
    if (waiting.length >= maxWaiting) return void socket.destroy()
    waiting.push(socket)
    giveOut()
  }

  function leave(worker: WorkerProcess): void {
    joined.delete(worker)
    const at = free.indexOf(worker)
    if (at >= 0) free.splice(at, 1)
  }

  const server = createServer({ pauseOnConnect: true, noDelay: true, allowHalfOpen: true }, take)
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen({ host, port, backlog }, resolve))
  return {
    port: (server.address() as AddressInfo).port,
    join(worker) {
      joined.add(worker)
      free.push(worker)
      giveOut()
    },
    leave,
    taken(worker) {
      // It has a handle of its own.
      given.get(worker)?.destroy()
      given.delete(worker)
      if (joined.has(worker)) free.push(worker)
      giveOut()
    },
    lost(worker) {
      leave(worker)
      const socket = given.get(worker)
      given.delete(worker)
      if (socket) waiting.unshift(socket)
      giveOut()
    },
    close: () => void server.close(),
  }
}
