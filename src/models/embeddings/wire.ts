import type { Embedder } from '../../agent/model.ts'
import type { Connections } from '../connections.ts'
import { maxErrorBytes, toStatusError, type Origin } from '../failures.ts'
import { embedOnce } from '../retry.ts'
import { toTokenCount } from '../usage.ts'

export interface WireEmbedderOptions {
  name: string
  model: string
  /** Address of the endpoint, including its query. */
  url: URL
  /** Headers with lower-case names. */
  headers: Readonly<Record<string, string>>
  connectMs: number
  /** Time limit for the complete answer, in milliseconds. */
  limitMs: number
  origin: Origin
  connections: Connections
}

/** Limit of a response, well above the size of a hundred long vectors. */
const maxBytes = 32 * 1024 * 1024

/** Creates an `Embedder` on OpenAI's API: `POST /embeddings`. */
export function createWireEmbedder({ name, model, url, headers, connectMs, limitMs, origin, connections }: WireEmbedderOptions): Embedder {
  const path = url.pathname + url.search

  async function post(body: string, signal: AbortSignal): Promise<string> {
    const pool = await connections.pool(url.origin, connectMs)
    const all = { 'content-type': 'application/json', ...headers }
    const response = await pool.request({ method: 'POST', path, headers: all, body, signal })
    const { statusCode: status } = response
    let text = ''
    response.body.setEncoding('utf8')
    for await (const piece of response.body) {
      text += piece
      if (text.length > (status === 200 ? maxBytes : maxErrorBytes)) break
    }
    if (status !== 200) throw toStatusError(origin, { status, headers: response.headers, body: text, now: Date.now() })
    return text
  }

  return {
    name,
    embed: (texts, signal, { dimensions, ...options } = {}) =>
      embedOnce({ model, origin, limitMs }, texts, signal, options, async (limited, count) => {
        const { data, usage } = parse(await post(JSON.stringify({ model, input: texts, dimensions }), limited))
        count(toTokenCount(usage?.prompt_tokens))
        const list: Embedding[] = Array.isArray(data) ? data : []
        return list.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0)).map(({ embedding }) => embedding)
      }),
  }
}

interface Embedding {
  index?: number
  embedding?: unknown
}

interface Reply {
  data?: unknown
  usage?: { prompt_tokens?: number } | null
}

function parse(text: string): Reply {
  try {
    return (JSON.parse(text) as Reply | null) ?? {}
  } catch {
    return {}
  }
}
