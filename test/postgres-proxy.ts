import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** What becomes of the bytes that a client has just sent. */
export type Fate =
  /** They reach the server, and so does its answer the client. */
  | 'passed'
  /** The connection is gone before the server has them. */
  | 'cut before'
  /** The server has done what they ask for; the connection is gone before its answer. */
  | 'cut behind'
  /** The server has done what they ask for; nobody hears of it, and the connection seems to stand. */
  | 'silence'

export interface PostgresProxy {
  /** Address of the same database through the proxy. */
  url: string
  /** Decides on all that clients send. */
  decide(by: (text: string) => Fate): void
  close(): void
}

/** Stands between clients and a Postgres server, and loses what it is told to. */
export async function startProxy(target: string): Promise<PostgresProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let decide: (text: string) => Fate = () => 'passed'
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname)
    let fate: Fate = 'passed'
    const end = () => {
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
      socket.on('error', end)
      socket.on('close', end)
    }
    client.on('data', (bytes) => {
      if (fate === 'passed') fate = decide(bytes.toString('latin1'))
      if (fate === 'cut before') end()
      else server.write(bytes)
    })
    server.on('data', (bytes) => {
      if (fate === 'cut behind') end()
      else if (fate === 'passed') client.write(bytes)
    })
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.port = String((proxy.address() as AddressInfo).port)
  return {
    url: url.href,
    decide: (by) => (decide = by),
    close() {
      proxy.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** That fate for the first bytes that match; the rest passes. */
export function once(pattern: RegExp, fate: Fate): (text: string) => Fate {
  let isDone = false
  return (text) => {
    if (isDone || !pattern.test(text)) return 'passed'
    isDone = true
    return fate
  }
}
