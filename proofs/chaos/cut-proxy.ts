import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** TCP proxy between a replica and the database, which can interrupt the network. */
export interface CutProxy {
  port: number
  /** Closes all open connections. */
  cut(): void
  /** Holds all traffic in both directions for `ms` milliseconds without closing connections, like a network that drops packets. */
  drop(ms: number): void
  /** For `ms` milliseconds, breaks one connection in five while a request is under way: the server executes the request, and its answer is lost. */
  loseAnswers(ms: number): void
  /** Breaks every connection on which a request is under way, and holds all traffic from then on: for `ms` milliseconds nobody learns the outcome. */
  isolate(ms: number): void
  close(): void
}

export async function startCutProxy(target: number, random: () => number): Promise<CutProxy> {
  const pairs = new Set<[Socket, Socket]>()
  let drops = { from: 0, until: 0 }
  let losses = { until: 0, share: 0 }

  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1')
    const pair: [Socket, Socket] = [near, far]
    pairs.add(pair)
    for (const [source, destination] of [pair, [far, near] as const]) {
      source.on('data', (bytes) => {
        const now = Date.now()
        if (now >= drops.from && now < drops.until) return hold(source, bytes, destination)
        destination.write(bytes)
        if (source === near && now < losses.until && random() < losses.share) loseAnswer(near, far)
      })
      source.on('error', () => undefined)
      source.on('close', () => {
        destination.destroy()
        pairs.delete(pair)
      })
    }
  })

  function loseAnswer(near: Socket, far: Socket): void {
    far.removeAllListeners('data').resume()
    setTimeout(() => near.destroy(), lossMs)
  }

  /** Delays bytes until the drop ends, like retransmitted packets. */
  function hold(source: Socket, bytes: Buffer, destination: Socket): void {
    source.pause()
    setTimeout(
      () => {
        if (destination.writable) destination.write(bytes)
        source.resume()
      },
      Math.max(0, drops.until - Date.now()),
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
    loseAnswers: (ms) => void (losses = { until: Date.now() + ms, share: lossShare }),
    drop: (ms) => void (drops = { from: Date.now(), until: Date.now() + ms }),
    isolate(ms) {
      const from = Date.now() + isolationMs
      losses = { until: from, share: 1 }
      drops = { from, until: from + ms }
    },
    close() {
      server.close()
      for (const [near, far] of pairs) {
        near.destroy()
        far.destroy()
      }
    },
  }
}

/** Share of the requests whose answers are lost, and the time for the server to execute such a request. */
const lossShare = 0.2
const lossMs = 100
/** Time in which the connections break before nothing passes any more. */
const isolationMs = 300
