import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A TCP connection's way that can be cut: stands between one replica and its database. */
export interface CutProxy {
  port: number
  /** Ends all connections that there are. */
  cut(): void
  /** Lets nothing through, both ways, without closing anything: a network that drops packets; for `ms`. */
  drop(ms: number): void
  close(): void
}

export async function startCutProxy(target: number): Promise<CutProxy> {
  const pairs = new Set<[Socket, Socket]>()
  let dropsUntil = 0

  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1')
    const pair: [Socket, Socket] = [near, far]
    pairs.add(pair)
    for (const [from, to] of [pair, [far, near] as const]) {
      from.on('data', (bytes) => {
        if (Date.now() < dropsUntil) return hold(from, bytes, to)
        to.write(bytes)
      })
      from.on('error', () => undefined)
      from.on('close', () => {
        to.destroy()
        pairs.delete(pair)
      })
    }
  })

  /** As packets that are sent again until they get through. */
  function hold(from: Socket, bytes: Buffer, to: Socket): void {
    from.pause()
    setTimeout(
      () => {
        if (to.writable) to.write(bytes)
        from.resume()
      },
      Math.max(0, dropsUntil - Date.now()),
    )
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      for (const [near, far] of pairs) {
        near.destroy()
        far.destroy()
      }
    },
    drop: (ms) => void (dropsUntil = Date.now() + ms),
    close() {
      server.close()
      for (const [near, far] of pairs) {
        near.destroy()
        far.destroy()
      }
    },
  }
}
