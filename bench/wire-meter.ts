import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** Postgres traffic since the last call of `count`. */
export interface WireCount {
  /** Transitions from no pending query to a pending query. Pipelined and concurrent queries count as a single round trip. */
  roundTrips: number
  /** Executed statements, including `begin` and `commit`. */
  statements: number
}

export interface WireMeter {
  /** URL of the proxy, to be used instead of the server's URL. */
  url: string
  count(): WireCount
  close(): void
}

/** Starts a proxy that forwards all traffic to the Postgres server at `url` and counts statements. TLS is not supported. */
export async function meterWire(url: string): Promise<WireMeter> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const counted: WireCount = { roundTrips: 0, statements: 0 }
  /** Unanswered queries on all connections. */
  let unanswered = 0

  function countRequest(type: string): void {
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
      countRequest(type)
    })
    const fromServer = readMessages('typed', (type) => {
      // The first ReadyForQuery ends the start-up of the connection.
      if (type !== 'Z' || waiting === 0) return
      waiting -= 1
      unanswered -= 1
    })
    forward(client, upstream, fromClient)
    forward(upstream, client, fromServer)
    client.once('close', () => {
      unanswered -= waiting
      waiting = 0
    })
  })

  function forward(source: Socket, destination: Socket, read: (bytes: Buffer) => void): void {
    sockets.add(source.setNoDelay(true))
    source.on('data', (bytes) => {
      read(bytes)
      destination.write(bytes)
    })
    source.on('error', () => destination.destroy())
    source.on('close', () => {
      sockets.delete(source)
      destination.destroy()
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

/** Calls `onMessage` for each message. A message starts with a type of 1 byte and a length of 4 bytes; the first client message has no type. */
function readMessages(first: 'start-up' | 'typed', onMessage: (type: string) => void): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  let typeBytes = first === 'start-up' ? 0 : 1
  return (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    let at = 0
    while (rest.length >= at + typeBytes + 4) {
      const end = at + typeBytes + rest.readUInt32BE(at + typeBytes)
      if (rest.length < end) break
      if (typeBytes === 1) onMessage(String.fromCharCode(rest[at]!))
      at = end
      typeBytes = 1
    }
    rest = rest.subarray(at)
  }
}
