import type { Pool } from 'undici'

/** Time limits of a request, in milliseconds. */
export interface Timeouts {
  connectMs: number
  firstTokenMs: number
  idleMs: number
}

/** Connections to model servers, kept alive between calls. Models with the same address share connections. */
export interface Connections {
  /** Resolves to the pool of an origin such as `https://api.openai.com`. */
  pool(origin: string, connectTimeoutMs: number): Promise<Pool>
  /** Closes all connections immediately. Running requests fail. */
  close(): Promise<void>
}

/** Creates the pools. Connections survive a change of the configuration, so that a new version of an agent need not reconnect. */
export function createConnections(): Connections {
  const pools = new Map<string, Promise<Pool>>()

  function pool(origin: string, connectTimeoutMs: number): Promise<Pool> {
    const key = `${connectTimeoutMs} ${origin}`
    const existing = pools.get(key)
    if (existing) return existing
    const created = open(origin, connectTimeoutMs)
    pools.set(key, created)
    return created
  }

  async function open(origin: string, connectTimeoutMs: number): Promise<Pool> {
    // Imported on demand: a service that has called no model starts without the package.
    const { Pool } = await import('undici')
    return new Pool(origin, {
      connectTimeout: connectTimeoutMs,
      // A streamed answer occupies its connection to the end, so the number of connections is not limited, and no call waits for another.
      connections: null,
      pipelining: 1,
      // HTTP/2 would share a connection between calls: a cancelled or stalled call could then affect other calls.
      allowH2: false,
      keepAliveTimeout: 30_000,
      // The adapters have their own timeouts, which do not count the time that a slow reader takes.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  async function close(): Promise<void> {
    const open = [...pools.values()]
    pools.clear()
    await Promise.all(open.map(async (opening) => (await opening).destroy()))
  }

  return { pool, close }
}
