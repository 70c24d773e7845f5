import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** Connections that another process has taken, for a server that does not listen itself. */
export interface InheritedConnections {
  take(connection: Socket): void
  /** When all of them are closed. */
  ended(): Promise<void>
}

export function acceptInherited(server: Server): InheritedConnections {
  const open = new Set<Socket>()
  let isFirst = true
  let onEmpty = () => {}
  return {
    take(connection) {
      // What a server starts when it listens: to keep its connections in a list, and to end requests that are sent too slowly.
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
