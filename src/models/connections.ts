import { Pool } from 'undici'

/** Connections to model servers, kept alive between calls and shared by all models of one address. */
export interface Connections {
  /** The pool of an origin, such as `https://api.openai.com`. */
  pool(origin: string, connectTimeoutMs: number): Pool
  /** Closes every connection at once; what is running breaks. */
  close(): Promise<void>
}

/** Connections outlive a change of the configuration, so that a new version of an agent need not connect anew. */
export function createConnections(): Connections {
  const pools = new Map<string, Pool>()

  function pool(origin: string, connectTimeoutMs: number): Pool {
    const key = `${connectTimeoutMs} ${origin}`
    const known = pools.get(key)
    if (known) return known
    const made = new Pool(origin, {
      connectTimeout: connectTimeoutMs,
      // A streamed answer holds its connection to the end, so there are as many as calls: no cap, and no waiting behind one another.
      connections: null,
      pipelining: 1,
      // One connection a call: a call that is left closes it, and none can stall another.
      allowH2: false,
      keepAliveTimeout: 30_000,
      // The adapters keep their own time, of which waiting for a slow reader is not a part.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    pools.set(key, made)
    return made
  }

  async function close(): Promise<void> {
    const open = [...pools.values()]
    pools.clear()
    await Promise.all(open.map((one) => one.destroy()))
  }

  return { pool, close }
}
