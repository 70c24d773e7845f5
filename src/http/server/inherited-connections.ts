import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** Connections that another process accepted, for a server that does not listen itself. */
export interface InheritedConnections {
  take(connection: Socket): void
  /** Resolves when all connections are closed. */
  ended(): Promise<void>
}

/** Feeds sockets of another process into `server`. */
export function acceptInherited(server: Server): InheritedConnections {
  const open = new Set<Socket>()
  let isFirst = true
  let onEmpty = () => {}
  return {
    take(connection) {
      // The event starts the list of connections and the timeouts of slow requests, as in a server that listens.
      if (isFirst) server.emit('listening')
      isFirst = false
      open.add(connection)
      connection.once('close', () => {
        open.delete(connection)
        if (open.size === 0) onEmpty()
      })
      server.emit('connection', connection)
    },
    async ended() {
      if (open.size > 0) await new Promise<void>((resolve) => (onEmpty = resolve))
    },
  }
}
