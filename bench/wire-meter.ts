import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** What went over the wire to Postgres since `count` was called last. */
export interface WireCount {
  /** Times that somebody began to wait while nobody waited: what is asked together is one. */
  roundTrips: number
  /** Executed, `begin` and `commit` among them. */
  statements: number
}

export interface WireMeter {
  /** The address to go by in the place of the server's own. */
  url: string
  count(): WireCount
  close(): void
}

/** Stands between a client and a Postgres server, hands everything on and counts it. Without TLS. */
export async function meterWire(url: string): Promise<WireMeter> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const counted: WireCount = { roundTrips: 0, statements: 0 }
  /** Queries on all connections that have no answer yet. */
  let unanswered = 0

  function asked(type: string): void {
    if (type === 'Q' || type === 'E') counted.statements += 1
    if (type !== 'Q' && type !== 'S') return
    if (unanswered === 0) counted.roundTrips += 1
    unanswered += 1
  }

  const server = createServer((client) => {
    const upstream = connect({ host: target.hostname, port: Number(target.port || 5432), noDelay: true })
    let waiting = 0
    const fromClient = readMessages('start-up', (type) => {
      if (type === 'Q' || type === 'S') waiting += 1
      asked(type)
    })
    const fromServer = readMessages('typed', (type) => {
      // The first one says that the connection is ready.
      if (type !== 'Z' || waiting === 0) return
      waiting -= 1
      unanswered -= 1
    })
    pass(client, upstream, fromClient)
    pass(upstream, client, fromServer)
    client.once('close', () => {
      unanswered -= waiting
      waiting = 0
    })
  })

  function pass(from: Socket, to: Socket, read: (bytes: Buffer) => void): void {
    sockets.add(from.setNoDelay(true))
    from.on('data', (bytes) => {
      read(bytes)
      to.write(bytes)
    })
    from.on('error', () => to.destroy())
    from.on('close', () => {
      sockets.delete(from)
      to.destroy()
    })
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const metered = new URL(url)
  metered.hostname = '127.0.0.1'
  metered.port = String((server.address() as AddressInfo).port)
  return {
    url: metered.href,
    count() {
      const now = { ...counted }
      Object.assign(counted, { roundTrips: 0, statements: 0 })
      return now
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Tells of each message: its type is one byte, its length four. The first of a client has no type. */
function readMessages(first: 'start-up' | 'typed', tell: (type: string) => void): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  let typeBytes = first === 'start-up' ? 0 : 1
  return (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    let at = 0
    while (rest.length >= at + typeBytes + 4) {
      const end = at + typeBytes + rest.readUInt32BE(at + typeBytes)
      if (rest.length < end) break
      if (typeBytes === 1) tell(String.fromCharCode(rest[at]!))
      at = end
      typeBytes = 1
    }
    rest = rest.subarray(at)
  }
}
